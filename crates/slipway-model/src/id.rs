//! Ids. Each is its own type, so that two of them cannot be swapped.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    ports::{Clock, Random},
    text::{BadText, checked_text, is_printable},
};

/// One operation. A UUID of version 7, so that ids made later sort later and the index stays compact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(Uuid);

impl OperationId {
    /// A new id from the ports of time and chance; nothing else in Slipway draws one.
    pub fn draw(clock: &dyn Clock, random: &dyn Random) -> Self {
        let millis = u64::try_from(clock.wall().as_micros() / 1000).unwrap_or(0);
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&random.next_u64().to_be_bytes());
        bytes[8..].copy_from_slice(&random.next_u64().to_be_bytes()[..2]);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid())
    }

    /// The UUID inside, for the databases.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl From<Uuid> for OperationId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl FromStr for OperationId {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| {
            BadText::new("operation id", text, "is not a UUID such as 0198c0de-0000-7000-8000-000000000000")
        })
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

checked_text! {
    /// One service instance, named by the platform. The Open Service Broker API asks for a GUID
    /// but platforms send other texts too; 255 characters is what every database index takes.
    InstanceId, "instance id", example "8c7b1f4e-52f5-4a0b-9d8e-2f9a3c1d0b6a",
    |text| is_printable(text, 255).then_some(()).ok_or("must be 1 to 255 printable ASCII characters without spaces")
}

checked_text! {
    /// One run of one program: a restart is a new replica, so that a lease can never be mistaken
    /// for one of an earlier life.
    ReplicaId, "replica id", example "r-0198c0de00007000",
    |text| is_printable(text, 64).then_some(()).ok_or("must be 1 to 64 printable ASCII characters without spaces")
}

impl ReplicaId {
    /// A new replica id; drawn at every start and after every lost lease.
    pub fn draw(random: &dyn Random) -> Self {
        Self(format!("r-{:016x}", random.next_u64()))
    }
}

checked_text! {
    /// What a waiting operation waits on, `<kind>/<id>`: `runtime/7f3a`, `operation/0198…`.
    /// Whoever sees that thing change wakes the key. 200 characters fit a kind and two names.
    WaitKey, "wait key", example "runtime/7f3a",
    |text| match text.split_once('/') {
        Some((kind, id)) if is_printable(text, 200) && !kind.is_empty() && !id.is_empty() => Ok(()),
        _ => Err("must look like <kind>/<id>, at most 200 printable ASCII characters without spaces"),
    }
}

impl WaitKey {
    /// The key that the end of an operation wakes.
    pub fn operation(id: OperationId) -> Self {
        Self(format!("operation/{id}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_parses() {
        InstanceId::EXAMPLE.parse::<InstanceId>().expect("example");
        ReplicaId::EXAMPLE.parse::<ReplicaId>().expect("example");
        WaitKey::EXAMPLE.parse::<WaitKey>().expect("example");
    }

    #[test]
    fn a_bad_text_is_refused_with_what_it_should_have_been() {
        let error = "no-slash".parse::<WaitKey>().expect_err("has no kind");
        assert_eq!(
            error.to_string(),
            "wait key \"no-slash\" must look like <kind>/<id>, at most 200 printable ASCII characters without spaces"
        );
        for bad in ["", "with space", &"x".repeat(256)] {
            bad.parse::<InstanceId>().expect_err(bad);
        }
        "42".parse::<OperationId>().expect_err("not a UUID");
    }
}
