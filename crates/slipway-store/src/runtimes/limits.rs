//! How long a text may be, and which characters it may hold: refused here, by its name, before any
//! database sees it. PostgreSQL takes no NUL and SQLite takes all, so left to them the answer would
//! depend on the store, and one would say nothing a caller could act on.

use secrecy::ExposeSecret;
use slipway_model::{
    JsonText, RuntimeId, RuntimeRecord,
    operation::NewOperation,
    ports::{Acceptance, NewConfig, NewKyma, StoreError, StoreResult},
    runtime_record::{AgentState, Audit},
};

/// Bytes of one document. The largest input the provisioner's API takes is far smaller; this is the
/// size above which a row hurts everyone who reads the table.
const MAX_DOCUMENT: usize = 1 << 20;
/// Characters of a name, an identity, a key.
const MAX_TEXT: usize = 255;
/// Paths of one audit entry: no input has as many fields.
const MAX_PATHS: usize = 1000;
/// Characters of one path.
const MAX_PATH: usize = 500;

/// Checks a request; answers the runtime that it is about.
pub(crate) fn check(request: &Acceptance) -> StoreResult<RuntimeId> {
    let Acceptance { runtime, tenant: _, config, kyma, intent, audit, operation } = request;
    let id = RuntimeId::of_instance(&operation.instance_id).ok_or_else(|| {
        StoreError::Refused(format!("operation {} is not about a runtime: {}", operation.id, operation.instance_id))
    })?;
    if let Some(runtime) = runtime {
        check_record(runtime)?;
        if runtime.id != id {
            let (new, of) = (runtime.id, operation.id);
            return Err(StoreError::Refused(format!("runtime {new} is given, but operation {of} is about {id}")));
        }
    }
    if let Some(NewConfig { schema_version: _, spec, secrets }) = config {
        document("config.spec", spec)?;
        size("config.secrets", secrets.as_ref().map_or(0, |secret| secret.expose_secret().len()))?;
    }
    if let Some(NewKyma { id: _, spec, secrets, is_upgrade: _ }) = kyma {
        document("kyma.spec", spec)?;
        size("kyma.secrets", secrets.as_ref().map_or(0, |secret| secret.expose_secret().len()))?;
    }
    if let Some(key) = intent {
        text("intent", key)?;
    }
    check_audit(audit)?;
    check_operation(operation)?;
    Ok(id)
}

fn check_record(runtime: &RuntimeRecord) -> StoreResult<()> {
    // The other texts are checked by their types.
    runtime.director_id.as_deref().map_or(Ok(()), |id| text("runtime.director_id", id))
}

fn check_operation(operation: &NewOperation) -> StoreResult<()> {
    text("operation.by", &operation.by)?;
    if !operation.plan.is_empty() {
        text("operation.plan", &operation.plan)?;
    }
    document("operation.data", &operation.data)?;
    size("operation.secrets", operation.secrets.as_ref().map_or(0, |secret| secret.expose_secret().len()))
}

pub(crate) fn check_audit(audit: &Audit) -> StoreResult<()> {
    let Audit { who, action, changed_paths } = audit;
    text("audit.who", who)?;
    text("audit.action", action)?;
    if changed_paths.len() > MAX_PATHS {
        let found = changed_paths.len();
        return Err(StoreError::Refused(format!("audit.changed_paths has {found} entries; give at most {MAX_PATHS}")));
    }
    changed_paths.iter().try_for_each(|path| bounded("audit.changed_paths", path, MAX_PATH))
}

pub(crate) fn check_agent(agent: &AgentState) -> StoreResult<()> {
    if agent.errors.len() > AgentState::MAX_ERRORS {
        let (found, most) = (agent.errors.len(), AgentState::MAX_ERRORS);
        return Err(StoreError::Refused(format!("agent.errors has {found} entries; give at most {most}")));
    }
    agent.errors.iter().try_for_each(|error| bounded("agent.errors", error, AgentState::MAX_ERROR_CHARS))
}

/// A text of the usual size.
pub(crate) fn text(field: &str, value: &str) -> StoreResult<()> {
    bounded(field, value, MAX_TEXT)
}

fn bounded(field: &str, value: &str, most: usize) -> StoreResult<()> {
    let refuse = |problem: String| Err(StoreError::Refused(format!("{field} {problem}")));
    if value.is_empty() {
        return refuse("is empty; give a text".to_owned());
    }
    if let Some(at) = value.chars().position(char::is_control) {
        return refuse(format!("holds a control character at position {}; remove it", at + 1));
    }
    match value.chars().count() {
        long if long > most => refuse(format!("has {long} characters; give at most {most}")),
        _ => Ok(()),
    }
}

/// JSON text cannot hold a control character, so only its size is looked at.
fn document(field: &str, document: &JsonText) -> StoreResult<()> {
    size(field, document.as_str().len())
}

fn size(field: &str, bytes: usize) -> StoreResult<()> {
    if bytes > MAX_DOCUMENT {
        return Err(StoreError::Refused(format!("{field} has {bytes} bytes; give at most {MAX_DOCUMENT}")));
    }
    Ok(())
}
