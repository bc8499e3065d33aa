//! Whose Shoot it is, and what it was rendered from.

use serde_json::{Map, json};
use slipway_kube::{annotations, labels};

use super::{
    Context, RenderError,
    draft::{Draft, given},
    input_hash,
};

/// How long the pieces of a cluster may take to clean up before they are forced, in seconds.
const GRACE: [(&str, &str); 3] = [
    (annotations::CLEANUP_EXTENDED_APIS, "120"),
    (annotations::CLEANUP_RESOURCES, "120"),
    (annotations::CLEANUP_WEBHOOKS, "60"),
];

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let runtime = context.input.runtime;
    let label = |key: &str| runtime.label(key).unwrap_or_default();
    let mut noted = Map::new();
    noted.insert(annotations::RUNTIME_ID.to_owned(), json!(label(labels::RUNTIME_ID)));
    // A Runtime that was only read from a file has no uid: what is there stays.
    let there = context.existing("metadata.annotations").and_then(|notes| notes.get(annotations::RUNTIME_UID));
    if let Some(uid) = runtime.metadata.uid.as_ref().map(|uid| json!(uid)).or_else(|| there.cloned()) {
        noted.insert(annotations::RUNTIME_UID.to_owned(), uid);
    }
    let generation = runtime.metadata.generation.unwrap_or_default();
    noted.insert(annotations::RUNTIME_GENERATION.to_owned(), json!(generation.to_string()));
    noted.insert(annotations::INPUT_HASH.to_owned(), json!(input_hash(context.input)));
    if let Some(licence) = given(context.shoot.licence_type.as_ref()) {
        noted.insert(annotations::LICENCE_TYPE.to_owned(), json!(licence));
    }
    noted.extend(GRACE.map(|(key, seconds)| (key.to_owned(), json!(seconds))));
    draft.set("metadata.annotations", noted);
    draft.set(
        "metadata.labels",
        json!({
            labels::SHOOT_ACCOUNT: label(labels::GLOBAL_ACCOUNT_ID),
            labels::SHOOT_SUBACCOUNT: label(labels::SUBACCOUNT_ID),
        }),
    );
    Ok(())
}
