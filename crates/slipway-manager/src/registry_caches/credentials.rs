//! The way of credentials to the garden, and out of it.
//!
//! They go there before anything names them, and leave when nothing does any more.

use std::collections::BTreeMap;

use serde_json::json;
use slipway_kube::{
    access::{self, Ask, resource::SECRETS},
    labels,
    runtime::ImageRegistryCache,
};

use super::{
    decide::{Credentials, Wish},
    secrets::{self, GardenSecret},
};
use crate::{observe::SecretView, pass::Pass};

/// Copies credentials to the garden. A cache whose credentials cannot be copied stays as it was; the others go on.
pub(super) async fn copy_all(
    pass: &Pass,
    wishes: &[Wish],
    wanted: &mut Vec<ImageRegistryCache>,
    refused: &BTreeMap<String, String>,
    present: &[ImageRegistryCache],
) -> Option<access::Error> {
    let mut failed = None;
    let mut kept = Vec::with_capacity(wanted.len());
    for cache in wanted.drain(..) {
        let wish = wishes.iter().find(|wish| wish.uid == cache.uid && !refused.contains_key(&wish.uid));
        let copied = match wish.and_then(|wish| wish.credentials.as_ref()) {
            Some(credentials) => copy(pass, &cache, credentials).await,
            None => Ok(()),
        };
        match copied {
            Ok(()) => kept.push(cache),
            Err(error) => {
                failed = Some(error);
                kept.extend(present.iter().find(|before| before.uid == cache.uid).cloned());
            }
        }
    }
    *wanted = kept;
    failed
}

/// Sees to it that the garden has these credentials, and that no others of the same cache are used.
async fn copy(pass: &Pass, cache: &ImageRegistryCache, credentials: &Credentials) -> Result<(), access::Error> {
    let (shared, name) = (&pass.shared, pass.seen.name());
    let (garden, namespace) = (&shared.garden, &shared.settings.garden_namespace);
    let index = &shared.registry_caches.secrets;
    let known = index.of_runtime(name);
    let fits = |known: &GardenSecret| known.cache_uid == cache.uid && !known.is_going && known.has(credentials);
    let there = known.iter().find(|(_, known)| fits(known)).map(|(name, _)| name.clone());
    let right = match there {
        Some(there) => there,
        None => {
            let (secret_name, document) = secrets::build(name, cache, credentials, &known, namespace);
            match garden.send_as::<SecretView>(Ask::create(&SECRETS, namespace, document)).await {
                Ok(made) => index.note(&secret_name, &made),
                // Made before, and the news of it are on their way. If not, somebody has made it another's.
                Err(error) if error.is_already_there() => {
                    let found = garden.send_as(Ask::get(&SECRETS, namespace, &secret_name)).await?;
                    index.note(&secret_name, &found);
                    if !index.of_runtime(name).get(&secret_name).is_some_and(fits) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            secret_name
        }
    };
    let known = index.of_runtime(name);
    for (secret_name, known) in known.iter().filter(|(_, it)| it.cache_uid == cache.uid && !it.is_going) {
        let is_dirty = *secret_name != right;
        if known.is_dirty == is_dirty {
            continue;
        }
        let mark = if is_dirty { json!("true") } else { json!(null) };
        let change = json!({"metadata": {"labels": {labels::DIRTY: mark}}});
        match garden.send_as::<SecretView>(Ask::merge(&SECRETS, namespace, secret_name, &known.this, change)).await {
            Ok(marked) => index.note(secret_name, &marked),
            Err(error) if error.is_not_found() && is_dirty => {
                index.forget(name, secret_name);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes these Secrets of the Runtime from the garden.
pub(super) async fn remove(pass: &Pass, names: &[String]) -> Result<(), access::Error> {
    let (namespace, index) = (&pass.shared.settings.garden_namespace, &pass.shared.registry_caches.secrets);
    let known = index.of_runtime(pass.seen.name());
    for (name, known) in names.iter().filter_map(|name| known.get_key_value(name)) {
        pass.shared.garden.tell(Ask::delete(&SECRETS, namespace, name, &known.this)).await?;
        index.forget(pass.seen.name(), name);
    }
    Ok(())
}
