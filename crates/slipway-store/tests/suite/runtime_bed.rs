//! The short words that the stories about runtimes are told in.

use secrecy::SecretString;
use slipway_model::{
    JsonText, Operation, OperationId, OperationState, OperationType, RuntimeId, RuntimeRecord, Timestamp,
    ports::{Acceptance, Accepted, NewConfig, NewKyma, Next, Random},
    runtime_record::{Audit, Tenant},
};

use crate::bed::{Bed, Run, t};

pub(crate) fn tenant(text: &str) -> Tenant {
    text.parse().expect("a tenant")
}

pub(crate) fn object(text: &str) -> JsonText {
    JsonText::parse(text.to_owned()).expect("an object")
}

pub(crate) fn audit(action: &str) -> Audit {
    Audit { who: "broker".to_owned(), action: action.to_owned(), changed_paths: vec!["a.b".to_owned()] }
}

pub(crate) fn record(id: RuntimeId, name: &str) -> RuntimeRecord {
    RuntimeRecord {
        id,
        tenant: tenant("acme"),
        sub_account: Some("acme-west".parse().expect("a sub-account")),
        shoot_name: name.parse().expect("a name"),
        project: "frog".parse().expect("a project"),
        director_id: Some(id.to_string()),
        director_owned: true,
        created_at: t(0),
        deleted_at: None,
        agent: None,
        version: 1,
    }
}

pub(crate) fn config(spec: &str) -> NewConfig {
    NewConfig {
        schema_version: 1,
        spec: object(spec),
        secrets: Some(SecretString::from(r#"{"administrators":["ada"]}"#)),
    }
}

impl Bed {
    pub(crate) fn runtime_id(&self) -> RuntimeId {
        RuntimeId::draw(self.chance.as_ref())
    }

    pub(crate) fn kyma(&self, spec: &str, is_upgrade: bool) -> NewKyma {
        let secrets = Some(SecretString::from(r#"{"override":"hush"}"#));
        NewKyma { id: RuntimeId::draw(self.chance.as_ref()).as_uuid(), spec: object(spec), secrets, is_upgrade }
    }

    /// A provisioning with Kyma.
    pub(crate) fn provisioning(&self, id: RuntimeId, name: &str) -> Acceptance {
        Acceptance {
            runtime: Some(record(id, name)),
            tenant: None,
            config: Some(config(r#"{"region":"eu"}"#)),
            kyma: Some(self.kyma(r#"{"version":"2.0"}"#, false)),
            intent: None,
            audit: audit("provisionRuntime"),
            operation: self.asked(OperationType::Provision, id.instance().as_str()),
        }
    }

    /// A change of a runtime that brings nothing but its operation.
    pub(crate) fn change(&self, id: RuntimeId, kind: OperationType) -> Acceptance {
        Acceptance {
            runtime: None,
            tenant: None,
            config: None,
            kyma: None,
            intent: None,
            audit: audit("change"),
            operation: self.asked(kind, id.instance().as_str()),
        }
    }

    /// Accepts what must be taken.
    pub(crate) async fn takes(&self, request: &Acceptance, now: Timestamp) -> Operation {
        match self.runtimes.accept(request, now).await.expect("answers") {
            Accepted::New(op) => op,
            other => panic!("not accepted: {other:?}"),
        }
    }

    /// Claims what is due and ends this operation.
    pub(crate) async fn finish(&self, id: OperationId, state: OperationState, at: Timestamp) {
        let me = self.replica(&format!("ender-{:x}", self.chance.next_u64())).await;
        let claims = self.claim_all(&me, at).await.claims;
        let claim = claims.iter().find(|claim| claim.operation.id == id).expect("it is due");
        self.must(Run::of(claim).next(at, Next::End { state })).await;
    }

    /// A runtime with Kyma, provisioned.
    pub(crate) async fn provisioned(&self, name: &str) -> RuntimeId {
        let id = self.runtime_id();
        let op = self.takes(&self.provisioning(id, name), t(0)).await;
        self.finish(op.id, OperationState::Succeeded, t(0)).await;
        id
    }

    /// The same, deprovisioned.
    pub(crate) async fn deprovisioned(&self, name: &str, at: Timestamp) -> RuntimeId {
        let id = self.provisioned(name).await;
        let op = self.takes(&self.change(id, OperationType::Deprovision), at).await;
        self.runtimes.tombstone(id, at).await.expect("buried");
        self.finish(op.id, OperationState::Succeeded, at).await;
        id
    }
}
