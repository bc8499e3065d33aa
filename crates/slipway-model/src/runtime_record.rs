//! One runtime as the provisioner knows it: who it belongs to, what was asked of it, and what its
//! agent last said. What the cluster itself looks like stands in Kubernetes and is never copied here.
//!
//! The split of a document into `spec` and `secrets` is made by who stores it: `spec` may be read by
//! anyone who may see the runtime, `secrets` (override values marked secret, ids of administrators)
//! is encrypted at rest and erased with the runtime.

use std::{fmt, str::FromStr};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    id::{InstanceId, OperationId},
    json::JsonText,
    ports::Random,
    state::spelled,
    text::{BadText, checked_text, is_printable},
    time::Timestamp,
};

/// What the engine's `instance_id` of a runtime begins with; instances of the broker never do,
/// because its platforms send GUIDs, so the two cannot take each other's operations for their own.
const INSTANCE_PREFIX: &str = "runtime:";

/// One runtime: the name of its Runtime resource, and what clients call it by. Given by the
/// Director, by the caller, or drawn here; never the nil UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Uuid", into = "Uuid")]
pub struct RuntimeId(Uuid);

impl RuntimeId {
    /// A value the tests parse, and documentation shows.
    pub const EXAMPLE: &'static str = "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a";

    /// A new random id, for when no Director gives one.
    pub fn draw(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next_u64().to_be_bytes());
        bytes[8..].copy_from_slice(&random.next_u64().to_be_bytes());
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The UUID inside, for the databases.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }

    /// What the engine calls this runtime: `runtime:<id>`.
    pub fn instance(self) -> InstanceId {
        format!("{INSTANCE_PREFIX}{}", self.0).parse().expect("a prefix and a UUID are printable and short")
    }

    /// The runtime that an operation of the engine is about; none for an instance of the broker.
    pub fn of_instance(instance: &InstanceId) -> Option<Self> {
        instance.as_str().strip_prefix(INSTANCE_PREFIX)?.parse().ok()
    }
}

impl TryFrom<Uuid> for RuntimeId {
    type Error = BadText;

    fn try_from(id: Uuid) -> Result<Self, Self::Error> {
        match id.is_nil() {
            true => Err(BadText::new("runtime id", &id.to_string(), "must not be the nil UUID")),
            false => Ok(Self(id)),
        }
    }
}

impl From<RuntimeId> for Uuid {
    fn from(id: RuntimeId) -> Self {
        id.0
    }
}

impl FromStr for RuntimeId {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Of the spellings a UUID has only the usual one: the id is also the name of a resource.
        let uuid = (text.len() == 36).then(|| text.parse::<Uuid>().ok()).flatten();
        uuid.ok_or_else(|| {
            BadText::new("runtime id", text, "is not a UUID such as 6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a")
        })?
        .try_into()
    }
}

impl fmt::Display for RuntimeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RuntimeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

checked_text! {
    /// Whose runtime it is: the global account. The platforms send GUIDs, older ones other texts;
    /// 255 characters is what every database index takes.
    Tenant, "tenant", example "3e64ebae-38b5-46a0-b1ed-9ccee153a0ae",
    |text| is_printable(text, 255).then_some(()).ok_or("must be 1 to 255 printable ASCII characters without spaces")
}

checked_text! {
    /// The subaccount it was made for; the same shape as a tenant.
    SubAccount, "sub-account", example "39b19a66-2c1a-4fe4-a28e-6e5db434084e",
    |text| is_printable(text, 255).then_some(()).ok_or("must be 1 to 255 printable ASCII characters without spaces")
}

checked_text! {
    /// Name of the Shoot: a DNS label. Gardener allows 21 characters for project and shoot together;
    /// that sum is checked where the project is known, here only what every Kubernetes takes.
    ShootName, "shoot name", example "c-1a2b3c4",
    |text| is_dns_label(text).then_some(()).ok_or(DNS_LABEL)
}

checked_text! {
    /// Name of the Gardener project the Shoot lies in.
    ProjectName, "project", example "frog-prod",
    |text| is_dns_label(text).then_some(()).ok_or(DNS_LABEL)
}

const DNS_LABEL: &str =
    "must be 1 to 63 lower-case letters, digits or dashes, and begin and end with a letter or digit";

fn is_dns_label(text: &str) -> bool {
    let ends_well = |byte: Option<u8>| byte.is_some_and(|b| b != b'-');
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && ends_well(text.bytes().next())
        && ends_well(text.bytes().next_back())
}

/// A runtime as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeRecord {
    /// Id.
    pub id: RuntimeId,
    /// Whose it is; changes when a subaccount moves to another global account.
    pub tenant: Tenant,
    /// For which subaccount; set once.
    pub sub_account: Option<SubAccount>,
    /// The Shoot's name, unique among the live runtimes of the project.
    pub shoot_name: ShootName,
    /// The Gardener project.
    pub project: ProjectName,
    /// Its id in the Director; none when there is no Director.
    pub director_id: Option<String>,
    /// We registered it there, so we unregister it. False when the caller did.
    pub director_owned: bool,
    /// Accepted.
    pub created_at: Timestamp,
    /// Deprovisioned: a tombstone, without secrets.
    pub deleted_at: Option<Timestamp>,
    /// What its agent was last seen doing; none before the first look.
    pub agent: Option<AgentState>,
    /// Raised by every change of this record. What is inserted counts as version 1, whatever is given.
    pub version: u64,
}

impl RuntimeRecord {
    /// Not deprovisioned.
    pub fn is_live(&self) -> bool {
        self.deleted_at.is_none()
    }
}

spelled! {
    /// Whether the agent in a runtime is connected. The spelling is that of the API.
    AgentConnection, "agent connection" {
        /// Not configured yet, or never seen.
        Pending => "Pending",
        /// Connected, perhaps with errors of synchronization.
        Connected => "Connected",
        /// Not connected.
        Disconnected => "Disconnected",
    }
}

/// What the agent of a runtime was last seen doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentState {
    /// Connected or not.
    pub state: AgentConnection,
    /// Why not, or what else is wrong.
    pub errors: Vec<String>,
    /// When it was looked at. An older look never replaces a newer one.
    pub observed_at: Timestamp,
}

impl AgentState {
    /// Errors kept at most; more of them say nothing new.
    pub const MAX_ERRORS: usize = 10;
    /// Characters of each error kept at most.
    pub const MAX_ERROR_CHARS: usize = 1000;

    /// An observation. The errors come out of a customer's cluster, so they are cut to a size and
    /// freed of control characters here rather than refused: a strange text must not hide the state.
    pub fn observed(state: AgentConnection, errors: impl IntoIterator<Item = String>, at: Timestamp) -> Self {
        let clean = |text: String| {
            let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            shown.take(Self::MAX_ERROR_CHARS).collect::<String>().trim().to_owned()
        };
        let errors = errors.into_iter().map(clean).filter(|text| !text.is_empty()).take(Self::MAX_ERRORS);
        Self { state, errors: errors.collect(), observed_at: at }
    }
}

/// One revision of what was asked of a cluster. Revisions are only ever added.
#[derive(Debug, Clone)]
pub struct ConfigRevision {
    /// Of which runtime.
    pub runtime: RuntimeId,
    /// From 1, without gaps.
    pub revision: u32,
    /// Version of the document's shape, for whoever reads it later.
    pub schema_version: u32,
    /// The normalised input, without secrets.
    pub spec: JsonText,
    /// The rest of it, one JSON text; erased by the tombstone.
    pub secrets: Option<SecretString>,
    /// The operation that asked for it.
    pub created_by: OperationId,
}

/// What was asked of Kyma in a runtime.
#[derive(Debug, Clone)]
pub struct KymaConfig {
    /// Id.
    pub id: Uuid,
    /// Of which runtime.
    pub runtime: RuntimeId,
    /// The normalised input, without secrets.
    pub spec: JsonText,
    /// The rest of it, one JSON text; erased by the tombstone.
    pub secrets: Option<SecretString>,
    /// The one in force; at most one of a runtime is.
    pub is_active: bool,
}

spelled! {
    /// How far an upgrade of Kyma came.
    KymaUpgradeState, "upgrade state" {
        /// Its operation runs.
        InProgress => "IN_PROGRESS",
        /// Kyma is at the new configuration.
        Succeeded => "SUCCEEDED",
        /// The operation failed; the new configuration stays in force until it is rolled back.
        Failed => "FAILED",
        /// Somebody restored the cluster and said so: the old configuration is in force again.
        RolledBack => "ROLLED_BACK",
    }
}

/// One upgrade of Kyma: from which configuration to which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KymaUpgrade {
    /// The operation that does it.
    pub operation: OperationId,
    /// In force before.
    pub pre: Uuid,
    /// In force since.
    pub post: Uuid,
    /// How far it came.
    pub state: KymaUpgradeState,
}

spelled! {
    /// Where a registration in the Director stands that we began before the runtime was stored.
    IntentState, "intent state" {
        /// Written down; the Director may or may not have been asked.
        Planned => "PLANNED",
        /// The Director gave an id.
        Registered => "REGISTERED",
        /// The runtime is stored: the registration is its own now.
        Committed => "COMMITTED",
        /// Given up: it can no longer be committed, and must be taken back in the Director.
        Abandoned => "ABANDONED",
        /// Taken back.
        Unregistered => "UNREGISTERED",
    }
}

/// A registration in the Director that is written down before the Director is asked, so that a
/// crash in between leaves a trace for the sweeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectorIntent {
    /// Chosen by whoever plans it, for example the id of the operation.
    pub key: String,
    /// The tenant it is made under.
    pub tenant: Tenant,
    /// The runtime's name in the Director, by which one without an id is looked for.
    pub name: String,
    /// What the Director answered.
    pub director_id: Option<String>,
    /// Where it stands.
    pub state: IntentState,
    /// When it was planned.
    pub created_at: Timestamp,
}

/// Who asked for what, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The caller's authenticated identity.
    pub who: String,
    /// What was asked, for example `upgradeShoot`.
    pub action: String,
    /// Paths of the input that changed something; never a value.
    pub changed_paths: Vec<String>,
}

/// An entry of the audit log. It outlives its runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Grows with every entry.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub who: String,
    /// The runtime's tenant, after the change.
    pub tenant: Tenant,
    /// The tenant before, if it changed.
    pub previous_tenant: Option<Tenant>,
    /// What.
    pub action: String,
    /// Which runtime.
    pub runtime: RuntimeId,
    /// The operation it started, if it did.
    pub operation: Option<OperationId>,
    /// Paths of the input that changed something.
    pub changed_paths: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_parses() {
        Tenant::EXAMPLE.parse::<Tenant>().expect("example");
        SubAccount::EXAMPLE.parse::<SubAccount>().expect("example");
        ShootName::EXAMPLE.parse::<ShootName>().expect("example");
        ProjectName::EXAMPLE.parse::<ProjectName>().expect("example");
        RuntimeId::EXAMPLE.parse::<RuntimeId>().expect("example");
    }

    #[test]
    fn a_runtime_and_its_instance_name_each_other() {
        let id: RuntimeId = RuntimeId::EXAMPLE.parse().expect("example");
        assert_eq!(RuntimeId::of_instance(&id.instance()), Some(id));
        let others = ["8c7b1f4e-52f5-4a0b-9d8e-2f9a3c1d0b6a", "runtime:", "runtime:7"];
        for other in others {
            assert_eq!(RuntimeId::of_instance(&other.parse().expect("an instance")), None, "{other}");
        }
    }

    #[test]
    fn a_runtime_id_is_a_uuid_in_its_usual_spelling_and_not_nil() {
        for bad in [
            "",
            "7",
            "00000000-0000-0000-0000-000000000000",
            "6f1de04b4b5a4a1c8b0a2f9a3c1d0b6a",
            "{6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a}",
            "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6\0",
        ] {
            bad.parse::<RuntimeId>().expect_err(bad);
        }
        let json = "\"00000000-0000-0000-0000-000000000000\"";
        serde_json::from_str::<RuntimeId>(json).expect_err("nil");
    }

    #[test]
    fn names_are_refused_with_what_they_should_have_been() {
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "a\0", "a b", &"x".repeat(64)] {
            let error = bad.parse::<ShootName>().expect_err(bad).to_string();
            assert!(error.starts_with("shoot name ") && error.contains("1 to 63 lower-case letters"), "{error}");
        }
        for bad in ["", "a b", "a\0", "ä", &"x".repeat(256)] {
            bad.parse::<Tenant>().expect_err(bad);
        }
    }

    #[test]
    fn what_an_agent_says_is_cut_and_cleaned() {
        let errors = ["fine".to_owned(), "a\0b\nc".to_owned(), " \t".to_owned(), "x".repeat(5000)];
        let many = (0..50).map(|n| n.to_string());
        let agent = AgentState::observed(
            AgentConnection::Disconnected,
            errors.into_iter().chain(many),
            Timestamp::from_micros(1),
        );
        assert_eq!(agent.errors.len(), AgentState::MAX_ERRORS);
        assert_eq!(agent.errors[..2], ["fine".to_owned(), "a b c".to_owned()]);
        assert_eq!(agent.errors[2].len(), AgentState::MAX_ERROR_CHARS);
    }
}
