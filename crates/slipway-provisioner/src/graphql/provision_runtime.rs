//! `provisionRuntime`.
//!
//! Nothing outside happens before the input is checked and a repeat is ruled out. The registration in
//! the Director comes before the runtime is stored, under an intent; the Runtime resource is written
//! by the operation, not here. Whatever fails in between takes the registration back.

use slipway_clients::director;
use slipway_model::{
    Component, JsonText, Operation, OperationState, Reason,
    ports::{Acceptance, Accepted, NewConfig, NewKyma},
    runtime_record::{ProjectName, RuntimeId, RuntimeRecord, ShootName, Tenant},
};
use uuid::Uuid;

use super::{
    operation_status::OperationStatus,
    request::{Request, runtime_id},
};
use crate::{
    OperationKind,
    api::{Api, Begin},
    auth::Scope,
    errors::ApiError,
    input::{self, ClusterSpec, Provision, spec::SCHEMA_VERSION, wire::ProvisionRuntimeInput},
    registration::Registrar,
};

/// Operations of one runtime that are searched for its provisioning.
const OPERATIONS_MAX: usize = 100;

pub(super) async fn resolve(
    request: &Request,
    config: ProvisionRuntimeInput,
    id: Option<String>,
) -> Result<OperationStatus, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let sub_account = request.sub_account()?;
    let chosen_id = id.map(|id| runtime_id(&id, "id")).transpose()?;
    let api = &*request.api;
    let wanted = input::provision(config, &api.settings, &*api.random)?;
    let (project, shoot_name) = names(api, &wanted.cluster)?;
    let has_chosen_name = wanted.has_chosen_name;
    if has_chosen_name && let Some(there) = api.runtimes.runtime_by_name(&project, &shoot_name).await? {
        return replay(request, &there, &tenant, &wanted.cluster).await;
    }

    if let Some(id) = chosen_id {
        check_free(api, id).await?;
    }
    let operation_id = api.draw_operation();
    let key = operation_id.to_string();
    let registrar = registrar(api);
    let (runtime_id, director_id, director_owned) = match (chosen_id, &registrar) {
        // The caller registered it, and will take that back.
        (Some(id), Some(registrar)) => {
            registrar.check_registered(&tenant, id).await?;
            (id, Some(id.to_string()), false)
        }
        (Some(id), None) => (id, None, false),
        (None, Some(registrar)) => {
            let given = registrar.register(&key, &tenant, &wanted.cluster.info, api.now()).await?;
            match given.parse::<RuntimeId>() {
                Ok(id) => (id, Some(given), true),
                Err(_) => {
                    registrar.take_back(&key).await;
                    let message = "the Director gave an id that is not a UUID";
                    let class = crate::errors::Class::Internal;
                    return Err(ApiError::new(class, Reason::DirectorRuntimeIdMismatch, message)
                        .blaming(Component::CompassDirectorClient));
                }
            }
        }
        (None, None) => (RuntimeId::draw(&*api.random), None, false),
    };
    let record = RuntimeRecord {
        id: runtime_id,
        tenant: Tenant::clone(&tenant),
        sub_account,
        shoot_name,
        project,
        director_id,
        director_owned,
        created_at: api.now(),
        deleted_at: None,
        agent: None,
        version: 1,
    };
    let stored = store(request, record, wanted, operation_id, director_owned.then(|| key.clone())).await;
    // The intent decides: it cannot be given up once the runtime is stored, however the answer was lost.
    if let (false, true, Some(registrar)) = (matches!(stored, Ok(Stored::New(..))), director_owned, &registrar) {
        registrar.take_back(&key).await;
    }
    match stored? {
        Stored::New(operation, kind, director_id) => {
            Ok(OperationStatus::new(*operation, kind).with_director_id(director_id))
        }
        Stored::Raced(there, wanted) if has_chosen_name => replay(request, &there, &tenant, &wanted).await,
        Stored::Raced(..) => {
            let message = "the name that was drawn is taken; try again";
            Err(ApiError::new(crate::errors::Class::Overloaded, Reason::DbAlreadyExists, message))
        }
    }
}

/// An id may be chosen that nobody has: a Runtime of that name in the control plane is somebody's, and what cannot be
/// asked cannot be ruled out. The operation proves it once more when it writes.
async fn check_free(api: &Api, id: RuntimeId) -> Result<(), ApiError> {
    match api.clusters.has(id).await {
        Ok(false) => Ok(()),
        Ok(true) => Err(taken(id)),
        Err(unseen) => Err(unseen.into_error(id)),
    }
}

fn taken(id: RuntimeId) -> ApiError {
    let message = format!("runtime {id} is there already; choose another id, or leave it out");
    ApiError::field("id", "V14", message).about(id)
}

fn registrar(api: &Api) -> Option<Registrar<'_>> {
    let director: &director::Client = api.director.as_deref()?;
    Some(Registrar { director, runtimes: &*api.runtimes, clock: &*api.clock })
}

fn names(api: &Api, cluster: &ClusterSpec) -> Result<(ProjectName, ShootName), ApiError> {
    let bad = |problem: String| {
        tracing::error!(%problem, "a checked name is not one");
        ApiError::internal()
    };
    let project =
        api.settings.project.parse().map_err(|problem: slipway_model::text::BadText| bad(problem.to_string()))?;
    let shoot = cluster.name.parse().map_err(|problem: slipway_model::text::BadText| bad(problem.to_string()))?;
    Ok((project, shoot))
}

enum Stored {
    New(Box<Operation>, OperationKind, Option<String>),
    /// Somebody else stored a runtime of this name at the same time.
    Raced(Box<RuntimeRecord>, Box<ClusterSpec>),
}

async fn store(
    request: &Request,
    record: RuntimeRecord,
    wanted: Provision,
    operation_id: slipway_model::OperationId,
    intent: Option<String>,
) -> Result<Stored, ApiError> {
    let api = &*request.api;
    let Provision { cluster, secrets, kyma, has_chosen_name: _, warnings } = wanted;
    let (id, director_id) = (record.id, record.director_id.clone());
    let kind = if kyma.is_some() { OperationKind::Provision } else { OperationKind::ProvisionNoInstall };
    let begin = Begin { changes_cluster: true, changes_kyma: kyma.is_some(), warnings };
    let document = |spec: Result<JsonText, serde_json::Error>| spec.map_err(|_| ApiError::internal());
    let kyma = match kyma {
        Some((spec, secrets)) => Some(NewKyma {
            id: draw_uuid(api),
            spec: document(JsonText::of(&spec))?,
            secrets: secrets.seal(),
            is_upgrade: false,
        }),
        None => None,
    };
    let acceptance = Acceptance {
        runtime: Some(record),
        tenant: None,
        config: Some(NewConfig {
            schema_version: SCHEMA_VERSION,
            spec: document(JsonText::of(&cluster))?,
            secrets: Some(secrets.seal()),
        }),
        kyma,
        intent,
        audit: request.audit("provisionRuntime", Vec::new()),
        operation: api.operation(operation_id, id, kind, &begin, &request.caller.identity)?,
    };
    match api.accept(&acceptance).await.map_err(|error| ApiError::from(error).about(id))? {
        Accepted::New(operation) => Ok(Stored::New(Box::new(operation), kind, director_id)),
        Accepted::NameTaken(there) => Ok(Stored::Raced(Box::new(there), Box::new(cluster))),
        // One that is busy is there, too; what it is busy with is told to its tenant only, by its status.
        Accepted::IdTaken(_) | Accepted::Busy(_) => Err(taken(id)),
        Accepted::Gone(_) => {
            Err(ApiError::field("id", "V14", format!("runtime {id} has been deprovisioned; choose another id"))
                .about(id))
        }
    }
}

pub(super) fn draw_uuid(api: &Api) -> Uuid {
    RuntimeId::draw(&*api.random).as_uuid()
}

/// A runtime of this name is there: the same wish again, or another one?
///
/// Only what makes a cluster another one is compared. On a retry the broker may draw another display
/// name and other zones, so a comparison of the whole input would never find the first try.
async fn replay(
    request: &Request,
    there: &RuntimeRecord,
    tenant: &Tenant,
    wanted: &ClusterSpec,
) -> Result<OperationStatus, ApiError> {
    let api = &*request.api;
    let conflict = |message: &str| ApiError::bad(Reason::RuntimeNameConflict, message);
    if there.tenant != *tenant {
        // Names are unique in the project; whose it is stays theirs.
        return Err(conflict("a runtime of this name is there already; choose another name"));
    }
    let stored = api.runtimes.config(there.id, Some(1)).await?;
    let first: Option<ClusterSpec> = stored.and_then(|stored| stored.spec.to().ok());
    let is_same = first.is_some_and(|first| {
        first.provider() == wanted.provider()
            && first.region == wanted.region
            && first.target_secret == wanted.target_secret
    });
    if !is_same {
        let message = "a runtime of this name with another provider, region or targetSecret is there already; choose another name";
        return Err(conflict(message).about(there.id));
    }
    let operations = api.runtimes.runtime_operations(there.id, None, OPERATIONS_MAX).await?;
    if let Some(last) = operations.first()
        && matches!(last.state, OperationState::Failed | OperationState::Canceled)
    {
        let message = format!("the last operation of runtime {}, {}, failed; deprovision it first", there.id, last.id);
        let error = ApiError::bad(Reason::RuntimeNeedsDeprovisioning, message).about(there.id);
        return Err(ApiError { operation: Some(last.id), ..error });
    }
    let provisioning = operations.into_iter().find_map(|operation| {
        let kind = OperationKind::of(&operation.process).filter(|kind| kind.provisions())?;
        Some((operation, kind))
    });
    let window = api.settings.idempotency_window();
    match provisioning {
        Some((operation, kind)) if is_recent(&operation, api, window) => {
            Ok(OperationStatus::new(operation, kind).with_director_id(there.director_id.clone()))
        }
        _ => Err(conflict("a runtime of this name is there already; choose another name").about(there.id)),
    }
}

/// In progress, or ended well not long ago.
fn is_recent(operation: &Operation, api: &Api, window: std::time::Duration) -> bool {
    match operation.finished_at {
        None => true,
        Some(at) => operation.state == OperationState::Succeeded && api.now().since(at) <= window,
    }
}
