//! A scenario: what happens to a garden from outside, and when.
//!
//! A file of JSON or YAML, a list in which every entry has a time after the start and one thing that
//! happens then. Times are simulated ones, so a scenario plays the same at any pace, and step by step on
//! a clock that stands still.
//!
//! ```yaml
//! - at: 60            # simulated seconds after the scenario was loaded
//!   inject: {shoot: garden-dev/shop, fault: fail, step: etcd, codes: [ERR_INFRA_QUOTA_EXCEEDED], times: 2}
//! - at: 300
//!   edit: {namespace: garden-dev, name: shop, patch: {spec: {hibernation: {enabled: true}}}}
//! - at: 600
//!   clear: garden-dev/shop
//! - at: 600
//!   requests: [{method: GET, path: /shoots, code: 429, retryAfter: 3, times: 5}]
//! - at: 900
//!   delete: {namespace: garden-dev, name: shop}
//! ```

use std::sync::Arc;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    Garden,
    engine::{
        faults::Aimed,
        port::{Port, SHOOTS},
    },
    requests::RequestFault,
};

/// One thing that happens.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    /// Simulated seconds after the start.
    #[serde(default)]
    at: f64,
    inject: Option<Aimed>,
    /// Ends the faults of this Shoot (`namespace/name`); all there are if it is empty.
    clear: Option<String>,
    /// The faults of requests from now on.
    requests: Option<Vec<RequestFault>>,
    edit: Option<Edit>,
    delete: Option<Whose>,
}

/// Somebody changes a Shoot by a merge patch.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    namespace: String,
    name: String,
    patch: Value,
}

/// Somebody deletes a Shoot, confirmation included.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Whose {
    namespace: String,
    name: String,
}

/// A scenario that was read and makes sense.
#[derive(Debug, Clone)]
pub struct Scenario(Vec<Entry>);

impl Scenario {
    /// Reads one, from JSON or YAML.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut entries: Vec<Entry> =
            serde_saphyr::from_str(text).map_err(|error| format!("the scenario is not what it should be: {error}"))?;
        for (index, entry) in entries.iter().enumerate() {
            let Entry { at, inject, clear, requests, edit, delete } = entry;
            let things = [inject.is_some(), clear.is_some(), requests.is_some(), edit.is_some(), delete.is_some()];
            if things.iter().filter(|thing| **thing).count() != 1 {
                return Err(format!("[{index}]: say one of inject, clear, requests, edit, delete"));
            }
            if !at.is_finite() || *at < 0.0 {
                return Err(format!("[{index}].at: must be seconds after the start, not {at}"));
            }
        }
        entries.sort_by(|one, other| one.at.total_cmp(&other.at));
        Ok(Self(entries))
    }
}

impl Garden {
    /// Plays a scenario from now on; ends with the returned task.
    pub fn play(self: &Arc<Self>, scenario: Scenario) -> JoinHandle<()> {
        let garden = self.clone();
        let start = garden.clock().now();
        tokio::spawn(async move {
            for entry in scenario.0 {
                let after = SignedDuration::try_from_secs_f64(entry.at).unwrap_or(SignedDuration::MAX);
                garden.clock().until(start.checked_add(after).unwrap_or(jiff::Timestamp::MAX)).await;
                garden.happen(entry).await;
            }
        })
    }

    async fn happen(&self, entry: Entry) {
        let Entry { at: _, inject, clear, requests, edit, delete } = entry;
        if let Some(fault) = inject {
            self.inject(fault);
        }
        if let Some(shoot) = clear {
            self.clear_faults(&shoot);
        }
        if let Some(faults) = requests {
            self.fail_requests(faults);
        }
        if let Some(Edit { namespace, name, patch }) = edit {
            self.edit(&namespace, &name, patch).await;
        }
        if let Some(Whose { namespace, name }) = delete {
            let confirmed = json!({"metadata": {"annotations": { super::shoot::CONFIRM_DELETION: "true" }}});
            self.edit(&namespace, &name, confirmed).await;
            let done = Port::delete(self.cluster(), SHOOTS, &namespace, &name).await.err();
            self.tell("scenario deletes", &namespace, &name, done.map(|status| status.to_json()));
        }
    }

    async fn edit(&self, namespace: &str, name: &str, patch: Value) {
        let refused = self.cluster().patch(SHOOTS, namespace, name, "", patch.clone()).await.err();
        let more = json!({"patch": patch, "refused": refused.map(|status| status.to_json())});
        self.tell("scenario edits", namespace, name, Some(more));
    }

    fn tell(&self, what: &str, namespace: &str, name: &str, more: Option<Value>) {
        self.journal().record(self.clock().now(), what, &format!("{namespace}/{name}"), more.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::{Options, Pace, landscape, problems::CORE, value::text};
    use kube_sandbox::cluster::Cluster;

    #[test]
    fn what_makes_no_sense_is_told_with_its_place() {
        let wrong = |text: &str| Scenario::parse(text).expect_err("wrong");
        assert!(wrong("- {at: 5}").contains("[0]: say one of inject"));
        assert!(wrong("- {at: -1, clear: ''}").contains("[0].at"));
        assert!(wrong("- {explode: true}").contains("explode"));
        assert!(Scenario::parse("[]").is_ok());
    }

    #[tokio::test]
    async fn a_scenario_is_played_by_the_simulated_clock() {
        let garden =
            Arc::new(Garden::start(Options { pace: Pace::Manual, ..Options::default() }).await.expect("garden"));
        Cluster::create(garden.cluster(), landscape::shoot("shop")).await.expect("created");
        let text = "- {at: 1200, edit: {namespace: garden-dev, name: shop, patch: {spec: {purpose: production}}}}\n- {at: 0, inject: {fault: slow, factor: 2.0}}\n- {at: 1800, delete: {namespace: garden-dev, name: shop}}\n";
        let played = garden.play(Scenario::parse(text).expect("a scenario"));
        let get = || garden.cluster().get(CORE, "shoots", "garden-dev", "shop").unwrap_or_default();
        let start = garden.clock().now();
        let mut purposes = Vec::new();
        for _ in 0..60 {
            garden.clock().advance(SignedDuration::from_mins(1));
            // The player and the engine wait for the same clock; both get their turn.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            garden.settled().await;
            purposes.push(text_of(&get(), "spec.purpose"));
        }
        played.await.expect("played to its end");
        purposes.dedup();
        assert_eq!(purposes[..2], ["evaluation", "production"]);
        assert_eq!(garden.faults().len(), 1);
        assert!(garden.clock().now().duration_since(start) >= SignedDuration::from_mins(60));
        let told: Vec<Value> = garden.journal().since(0);
        assert!(told.iter().any(|line| line["what"] == "scenario deletes" && line["more"].is_null()), "{told:?}");
        assert!(get().is_null() || get()["metadata"]["deletionTimestamp"].is_string());
    }

    fn text_of(shoot: &Value, path: &str) -> String {
        text(shoot, path).to_owned()
    }
}
