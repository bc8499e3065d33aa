//! One request: who calls, for whom, and what every resolver must ask first.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::HeaderMap;
use slipway_model::{
    Operation, OperationId, Reason,
    ports::{Acceptance, Accepted, NewConfig, NewKyma, Reassigned, Reassignment, StoreError},
    runtime_record::{Audit, RuntimeId, RuntimeRecord, SubAccount, Tenant},
};

use crate::{
    OperationKind,
    api::{Api, Begin},
    auth::{ActingTenant, Caller, Scope, Tenancy},
    clusters::Unseen,
    errors::ApiError,
    input::is_label_value,
    ownership::OwnRuntime,
};

/// The headers a request is made under.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// `tenant`.
    pub tenant: Option<String>,
    /// `sub-account`.
    pub sub_account: Option<String>,
}

impl Names {
    /// From the headers of a request.
    pub fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Self { tenant: text("tenant"), sub_account: text("sub-account") }
    }
}

/// The context of the resolvers.
pub struct Request {
    /// What all requests share.
    pub api: Arc<Api>,
    /// Who calls.
    pub caller: Caller,
    names: Names,
    /// Queries and mutations of this document so far.
    entered: AtomicUsize,
    /// It came over a WebSocket.
    is_over_socket: bool,
}

/// A connection is cloned for each of its documents; each begins to count anew.
impl Clone for Request {
    fn clone(&self) -> Self {
        Self {
            api: self.api.clone(),
            caller: self.caller.clone(),
            names: self.names.clone(),
            entered: AtomicUsize::new(0),
            is_over_socket: self.is_over_socket,
        }
    }
}

impl juniper::Context for Request {}

/// A runtime that the caller may act on.
#[derive(Debug, Clone)]
pub(crate) struct Granted {
    pub(crate) record: RuntimeRecord,
    /// It moves to another tenant with the next write.
    pub(crate) moved: Option<Reassignment>,
}

/// What is stored with an operation besides itself.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) config: Option<NewConfig>,
    pub(crate) kyma: Option<NewKyma>,
    pub(crate) begin: Begin,
    pub(crate) paths: Vec<String>,
}

impl Request {
    /// A request by HTTP: one document.
    pub fn new(api: Arc<Api>, caller: Caller, names: Names) -> Self {
        Self { api, caller, names, entered: AtomicUsize::new(0), is_over_socket: false }
    }

    /// A connection by WebSocket: many documents, none of which may change anything.
    pub fn over_socket(api: Arc<Api>, caller: Caller, names: Names) -> Self {
        Self { is_over_socket: true, ..Self::new(api, caller, names) }
    }

    /// What every root field goes through: it is counted by its name, its code and its time.
    pub(crate) async fn counted<T>(
        &self,
        field: &'static str,
        resolve: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let begun = self.api.clock.monotonic();
        let answer = resolve.await;
        let code = answer.as_ref().map_or_else(|error| error.class.code(), |_| 200);
        self.api.metrics.answered(field, code, self.api.clock.monotonic().saturating_sub(begun));
        answer
    }

    /// Every query begins here: the caller may read, the document does not ask for too much, and a
    /// tenant is named that the caller may act for. Answers the tenant.
    pub(crate) fn reads(&self) -> Result<ActingTenant, ApiError> {
        self.enters(Scope::Read)
    }

    /// Every mutation begins here.
    pub(crate) fn writes(&self, scope: Scope) -> Result<ActingTenant, ApiError> {
        if self.is_over_socket {
            return Err(ApiError::bad(
                Reason::Validation,
                "mutations are not taken over a WebSocket; send them by POST",
            ));
        }
        self.enters(scope)
    }

    fn enters(&self, scope: Scope) -> Result<ActingTenant, ApiError> {
        let most = self.api.settings.limits.root_fields;
        let before = self.entered.fetch_add(1, Ordering::Relaxed);
        if before >= most {
            let message = format!("the document has more than {most} queries or mutations; send several documents");
            return Err(ApiError::bad(Reason::Validation, message));
        }
        self.caller.require(scope)?;
        let given = self.names.tenant.as_deref().unwrap_or_default();
        if given.is_empty() {
            return Err(ApiError::bad(Reason::TenantMissing, "the header tenant is missing or empty"));
        }
        let wrong =
            || ApiError::field("header.tenant", "text", "must be 1 to 63 letters, digits, dots, dashes or underscores");
        let tenant = given.parse::<Tenant>().ok().filter(|_| is_label_value(given)).ok_or_else(wrong)?;
        self.caller.act_for(tenant)
    }

    /// The subaccount; only a provisioning reads it. It is written down for whoever pays and opens nothing, so that it
    /// needs no proof beside the tenant's.
    pub(crate) fn sub_account(&self) -> Result<Option<SubAccount>, ApiError> {
        let Some(given) = self.names.sub_account.as_deref().filter(|given| !given.is_empty()) else { return Ok(None) };
        let wrong = || {
            ApiError::field(
                "header.sub-account",
                "text",
                "must be 1 to 63 letters, digits, dots, dashes or underscores",
            )
        };
        given.parse::<SubAccount>().ok().filter(|_| is_label_value(given)).map(Some).ok_or_else(wrong)
    }

    /// A runtime the caller may see under this tenant. The tenant is checked before anything is told.
    pub(crate) async fn runtime(&self, id: &str, tenant: &ActingTenant) -> Result<Granted, ApiError> {
        let id = runtime_id(id, "id")?;
        let record =
            self.api.runtimes.runtime(id).await?.ok_or_else(|| ApiError::not_found("runtime", id).about(id))?;
        self.grant(record, tenant)
    }

    /// The same for a runtime that is at hand.
    pub(crate) fn grant(&self, record: RuntimeRecord, tenant: &ActingTenant) -> Result<Granted, ApiError> {
        match self.caller.tenancy(&record, tenant, self.api.settings.tenant_policy)? {
            Tenancy::Same => Ok(Granted { record, moved: None }),
            Tenancy::Moved(moved) => Ok(Granted { record, moved: Some(moved) }),
        }
    }

    /// The same for a runtime that must live.
    pub(crate) async fn live_runtime(&self, id: &str, tenant: &ActingTenant) -> Result<Granted, ApiError> {
        let granted = self.runtime(id, tenant).await?;
        if granted.record.is_live() { Ok(granted) } else { Err(gone(granted.record.id)) }
    }

    /// The Runtime of a record as far as it can be seen; the operation looks again before it acts. One that is
    /// somebody else's ends the request.
    pub(crate) async fn observed(&self, record: &RuntimeRecord) -> Result<Option<OwnRuntime>, ApiError> {
        match self.api.clusters.runtime(record).await {
            Ok(runtime) => Ok(runtime),
            Err(Unseen::Away(_)) => Ok(None),
            Err(foreign @ Unseen::Foreign(_)) => Err(foreign.into_error(record.id)),
        }
    }

    /// An operation the caller may see, and its kind.
    pub(crate) async fn operation(
        &self,
        id: &str,
        tenant: &ActingTenant,
    ) -> Result<(Operation, OperationKind), ApiError> {
        let id: OperationId = id.parse().map_err(|problem| ApiError::field("id", "V14", format!("{problem}")))?;
        let unknown = || ApiError::not_found("operation", id);
        let operation = match self.api.store.operation(id).await {
            Ok(operation) => operation,
            Err(StoreError::NotFound { .. }) => return Err(unknown()),
            Err(error) => return Err(error.into()),
        };
        let kind = OperationKind::of(&operation.process).ok_or_else(unknown)?;
        let runtime = RuntimeId::of_instance(&operation.instance_id).ok_or_else(unknown)?;
        let record = self.api.runtimes.runtime(runtime).await?.ok_or_else(unknown)?;
        self.grant(record, tenant)?;
        Ok((operation, kind))
    }

    /// Who asked for what, for the audit log.
    pub(crate) fn audit(&self, action: &str, changed_paths: Vec<String>) -> Audit {
        Audit { who: self.caller.identity.clone(), action: action.to_owned(), changed_paths }
    }

    /// Starts an operation on a living runtime: all that goes with it is stored at once, and of several
    /// at the same time exactly one is.
    pub(crate) async fn start(
        &self,
        granted: &Granted,
        kind: OperationKind,
        action: &str,
        change: Change,
    ) -> Result<Operation, ApiError> {
        let id = granted.record.id;
        let Change { config, kyma, begin, paths } = change;
        let operation = self.api.operation(self.api.draw_operation(), id, kind, &begin, &self.caller.identity)?;
        let request = Acceptance {
            runtime: None,
            tenant: granted.moved.clone(),
            config,
            kyma,
            intent: None,
            audit: self.audit(action, paths),
            operation,
        };
        match self.api.accept(&request).await.map_err(|error| ApiError::from(error).about(id))? {
            Accepted::New(operation) => {
                if granted.moved.is_some() {
                    self.api.metrics.reassigned();
                }
                Ok(operation)
            }
            Accepted::Busy(other) => Err(ApiError::busy(&other).about(id)),
            Accepted::Gone(_) => Err(gone(id)),
            Accepted::NameTaken(_) | Accepted::IdTaken(_) => {
                tracing::error!(runtime = %id, "the store answered a change as if it were a new runtime");
                Err(ApiError::internal().about(id))
            }
        }
    }

    /// Stores that a runtime has moved, where no operation does.
    pub(crate) async fn settle_tenant(&self, granted: &Granted, action: &str) -> Result<(), ApiError> {
        let Some(moved) = &granted.moved else { return Ok(()) };
        let audit = self.audit(action, vec!["tenant".to_owned()]);
        match self.api.runtimes.reassign(granted.record.id, moved, &audit, self.api.now()).await? {
            Reassigned::Done => {
                self.api.metrics.reassigned();
                Ok(())
            }
            Reassigned::Conflict => {
                let message = "the runtime's tenant was changed by somebody else at the same time";
                Err(ApiError::bad(Reason::TenantMismatch, message).about(granted.record.id))
            }
        }
    }
}

/// V14.
pub(crate) fn runtime_id(text: &str, path: &str) -> Result<RuntimeId, ApiError> {
    text.parse().map_err(|problem| ApiError::field(path, "V14", format!("{problem}")))
}

fn gone(id: RuntimeId) -> ApiError {
    let message = format!("runtime {id} has been deprovisioned");
    ApiError::new(crate::errors::Class::NotFound, Reason::DbNotFound, message).about(id)
}
