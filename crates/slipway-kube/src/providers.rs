//! The clouds, one row each; a cloud's file knows everything about it.
//!
//! Nothing outside of that file asks which cloud it has: what differs is a field or a function of
//! [`Cloud`]. How a cloud is added stands in `docs/how-to-add-a-cloud.md`.

mod alicloud;
pub(crate) mod aws;
mod azure;
mod gcp;
mod gdch;
mod openstack;

use std::{borrow::Cow, cmp::Ordering, fmt, hash};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cloud::Cloud;

/// All clouds.
pub static CLOUDS: &[&Cloud] =
    &[&aws::CLOUD, &azure::CLOUD, &gcp::CLOUD, &openstack::CLOUD, &alicloud::CLOUD, &gdch::CLOUD];

/// Which cloud: a row of the table, written as its name.
#[derive(Clone, Copy)]
pub struct ProviderType(&'static Cloud);

impl ProviderType {
    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        CLOUDS.iter().map(|cloud| Self(cloud))
    }

    /// This cloud; it need not stand in the table.
    pub const fn of(cloud: &'static Cloud) -> Self {
        Self(cloud)
    }

    /// The cloud that a request names, in any case, perhaps by an old name.
    pub fn parse(text: &str) -> Option<Self> {
        let is = |name: &&str| name.eq_ignore_ascii_case(text);
        Self::all().find(|provider| is(&provider.0.name) || provider.0.aliases.iter().any(is))
    }

    /// Everything about it.
    pub const fn cloud(self) -> &'static Cloud {
        self.0
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }
}

impl fmt::Display for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for ProviderType {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ProviderType {}

impl hash::Hash for ProviderType {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialOrd for ProviderType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ProviderType {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Serialize for ProviderType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProviderType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::all().find(|provider| provider.as_str() == name).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(Self::as_str).collect();
            serde::de::Error::custom(format!("`{name}` is no cloud; one of {} is", names.join(", ")))
        })
    }
}

impl JsonSchema for ProviderType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProviderType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::all().map(Self::as_str).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests;
