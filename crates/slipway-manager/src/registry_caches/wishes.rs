//! Caches of image registries, as a cluster's owner asks for them there: read, and told how they are.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ListMeta, ObjectMeta, Time};
use serde::Deserialize;
use serde_json::{Value, json};
use slipway_kube::{
    access::{
        Access, Ask, Error, Exactly,
        resource::{KYMAS, REGISTRY_CACHE_CONFIGS, SECRETS},
    },
    conditions::{Reason, Type},
    runtime::RegistryCacheConfig,
};
use slipway_model::time::Timestamp;

use super::decide::{Credentials, MOST, Wish, is_name, sort_by_age};
use crate::{skr::namespace, status::to_kubernetes};

/// The module that makes caches possible.
const MODULE: &str = "registry-cache";
/// More are not even read: whoever makes thousands of them must not fill our memory.
const READ_MOST: usize = 2 * MOST;
/// The Kyma resource of a cluster.
const KYMA: &str = "default";

#[derive(Deserialize)]
struct Configs {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Config>,
}

/// A wish with what was last told about it.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

/// What a wish is told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct WishStatus {
    /// `Pending`, `Ready` or `Failed`.
    #[serde(default)]
    state: String,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// What a cluster asks for.
pub(super) struct WishList {
    /// The wishes, by age.
    pub(super) wishes: Vec<Wish>,
    /// Whether the module has brought its kind.
    pub(super) has_kind: bool,
    /// Whether these are all.
    pub(super) is_whole: bool,
    /// By identity: the version it was read at, and what it was told.
    statuses: BTreeMap<String, (Option<String>, WishStatus)>,
}

/// How a wish stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WishState<'a> {
    /// On its way into the Shoot.
    Pending,
    /// In the Shoot, and Gardener is done with it.
    Ready,
    /// Not to be met, and why.
    Failed(&'a str),
}

fn has_module(kyma: &Value) -> bool {
    let modules = kyma["spec"]["modules"].as_array();
    modules.into_iter().flatten().any(|module| module["name"] == MODULE)
}

/// What the cluster asks for; none where the module is off.
pub(super) async fn read(skr: &Access) -> Result<Option<WishList>, Error> {
    let kyma: Option<Value> = skr.find_if_served(Ask::get(&KYMAS, namespace::KYMA_SYSTEM, KYMA)).await?;
    if !kyma.as_ref().is_some_and(has_module) {
        return Ok(None);
    }
    // The module may be so new that it has not brought its kind yet.
    let all = Ask::list(&REGISTRY_CACHE_CONFIGS, "").with("limit", READ_MOST.to_string());
    let configs: Option<Configs> = skr.find_if_served(all).await?;
    let has_kind = configs.is_some();
    let rest = configs.as_ref().and_then(|configs| configs.metadata.continue_.as_deref()).unwrap_or_default();
    let is_whole = rest.is_empty();
    let configs = configs.map(|configs| configs.items).unwrap_or_default();
    let (mut wishes, mut statuses) = (Vec::new(), BTreeMap::new());
    for config in configs.into_iter().filter(|config| config.metadata.deletion_timestamp.is_none()) {
        let metadata = config.metadata;
        let uid = metadata.uid.unwrap_or_default();
        // A status that nobody can read is none.
        let status = serde_json::from_value(config.status).unwrap_or_default();
        statuses.insert(uid.clone(), (metadata.resource_version, status));
        wishes.push(Wish {
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            uid,
            created: metadata.creation_timestamp.map(|time| time.0.to_string()).unwrap_or_default(),
            config: parse(config.spec),
            credentials: None,
        });
    }
    sort_by_age(&mut wishes);
    for wish in wishes.iter_mut().take(MOST) {
        let name = wish.config.as_ref().ok().and_then(|config| config.secret_reference_name.as_ref());
        let Some(name) = name.filter(|name| is_name(name)) else { continue };
        let secret: Option<Secret> = skr.find(Ask::get(&SECRETS, &wish.namespace, name)).await?;
        wish.credentials = secret.map(|secret| Credentials(secret.data));
    }
    Ok(Some(WishList { wishes, has_kind, is_whole, statuses }))
}

/// Only what is missing or of the wrong type is said: the library would quote what stands there.
fn parse(spec: Value) -> Result<RegistryCacheConfig, String> {
    serde_json::from_value(spec)
        .map_err(|_| "spec cannot be read: upstream is missing, or a field has another type than it should".to_owned())
}

impl WishList {
    /// Tells each wish how it stands, where that is news; answers whether all have heard it.
    pub(super) async fn report<'a>(
        &self,
        skr: &Access,
        now: Timestamp,
        standing: impl Fn(&Wish) -> WishState<'a>,
    ) -> Result<bool, Error> {
        let mut have_all = true;
        for wish in &self.wishes {
            let (version, before) = self.statuses.get(&wish.uid).cloned().unwrap_or_default();
            let after = next_status(&before, standing(wish), now);
            if after == before {
                continue;
            }
            // With the version: conditions are a list, and others write theirs into it.
            let uid = Some(wish.uid.clone());
            let read = ObjectMeta { uid, resource_version: version, ..ObjectMeta::default() };
            let change = json!({"status": {"state": after.state, "conditions": after.conditions}});
            let only = Exactly::unchanged(&read);
            let ask = Ask::merge(&REGISTRY_CACHE_CONFIGS, &wish.namespace, &wish.name, &only, change).part("status");
            match skr.tell(ask).await {
                // Withdrawn in this moment.
                Err(error) if error.is_not_found() => {}
                // Changed in this moment: told with the next look.
                Err(error) if error.is_conflict() => have_all = false,
                other => other?,
            }
        }
        Ok(have_all)
    }
}

/// What a wish is told: its state, and our condition beside those of others.
fn next_status(before: &WishStatus, standing: WishState<'_>, now: Timestamp) -> WishStatus {
    let (state, status, reason, message) = match standing {
        WishState::Pending => ("Pending", "Unknown", Reason::RegistryCacheConfigured, ""),
        WishState::Ready => ("Ready", "True", Reason::RegistryCacheConfigured, ""),
        WishState::Failed(why) => ("Failed", "False", Reason::RegistryCacheGardenClusterConfigurationFailed, why),
    };
    let of = Type::RegistryCacheConfigured.as_str();
    let mut conditions = before.conditions.clone();
    let known = conditions.iter().position(|condition| condition.type_ == of);
    let same = known.map(|place| &conditions[place]).filter(|it| it.status == status);
    let since: Time = same.map_or_else(|| to_kubernetes(now), |it| it.last_transition_time.clone());
    let condition = Condition {
        type_: of.to_owned(),
        status: status.to_owned(),
        reason: reason.as_str().to_owned(),
        message: message.to_owned(),
        last_transition_time: since,
        observed_generation: None,
    };
    match known {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
    WishStatus { state: state.to_owned(), conditions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_found_by_its_name() {
        let kyma = |modules: Value| json!({"spec": {"modules": modules}});
        assert!(has_module(&kyma(json!([{"name": "istio"}, {"name": MODULE, "channel": "fast"}]))));
        for other in [json!([]), json!([{"name": "registry-cache-2"}]), json!("registry-cache"), Value::Null] {
            assert!(!has_module(&kyma(other)));
        }
    }

    #[test]
    fn news_are_told_once_and_the_conditions_of_others_stay() {
        let (early, late) = (Timestamp::from_micros(1_000_000), Timestamp::from_micros(9_000_000));
        let others: WishStatus = serde_json::from_value(json!({"conditions": [{
            "type": "RegistryCacheValidated", "status": "True", "reason": "RegistryCacheValidated", "message": "",
            "lastTransitionTime": "2026-11-01T00:00:00Z"}]}))
        .expect("a status");
        let pending = next_status(&others, WishState::Pending, early);
        assert_eq!((pending.state.as_str(), pending.conditions.len()), ("Pending", 2));
        assert_eq!(next_status(&pending, WishState::Pending, late), pending);
        let ready = next_status(&pending, WishState::Ready, late);
        assert_eq!((ready.state.as_str(), ready.conditions[1].status.as_str()), ("Ready", "True"));
        let failed = next_status(&ready, WishState::Failed("spec.upstream"), late);
        assert_eq!((failed.state.as_str(), failed.conditions[1].message.as_str()), ("Failed", "spec.upstream"));
        assert_eq!(failed.conditions[0], others.conditions[0]);
    }
}
