//! Looks at the agents of all runtimes, again and again, so that nobody who asks has to wait for a
//! customer's cluster.
//!
//! What is seen is stored with its time. A cluster that cannot be reached keeps its last state until that
//! is stale; then its agent counts as disconnected, and the reason and the time of the last contact are
//! said. A round visits a bounded number of clusters at once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt as _, stream};
use serde_json::Value;
use slipway_kube::access::{Ask, resource::COMPASS_CONNECTIONS};
use slipway_model::{
    Timestamp,
    ports::{Clock, Random},
    runtime_record::{AgentConnection, AgentState, RuntimeRecord},
    time::{mins, secs, spell},
};

use crate::{
    Metrics, agent,
    domain::Systems,
    resource,
    steps::{Problem, described},
};

/// How often each agent is looked at.
const EVERY: Duration = secs(60);

/// Clusters visited at once.
const AT_ONCE: usize = 16;

/// Runtimes read from the database at once.
const PAGE: usize = 200;

/// Without contact for so long, an agent counts as disconnected, unless set otherwise.
pub const STALE_AFTER: Duration = mins(15);

/// What the rounds need.
pub struct Agents {
    /// Clients and the store.
    pub systems: Arc<Systems>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Without contact for so long, an agent counts as disconnected.
    pub stale_after: Duration,
    /// Figures.
    pub metrics: Arc<Metrics>,
}

impl Agents {
    /// Round after round, until it is dropped.
    pub async fn run(&self) {
        loop {
            self.clock.sleep(self.random.jitter(EVERY)).await;
            self.round().await;
        }
    }

    /// One round over all live runtimes; answers how many were looked at.
    pub async fn round(&self) -> usize {
        let (mut after, mut count) = (None, 0);
        let mut seen: Vec<(AgentConnection, usize)> = AgentConnection::ALL.iter().map(|state| (*state, 0)).collect();
        loop {
            let page = match self.systems.runtimes.live_runtimes(after, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "runtimes cannot be listed; their agents are looked at later");
                    return count;
                }
            };
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            count += page.len();
            let states = Mutex::new(Vec::new());
            let visit = async |record| {
                let state = self.visit(record).await;
                states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
            };
            stream::iter(&page).for_each_concurrent(AT_ONCE, visit).await;
            let states = states.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (state, count) in &mut seen {
                *count += states.iter().filter(|other| *other == state).count();
            }
        }
        self.metrics.saw_agents(&seen);
        count
    }

    /// Looks at one agent and stores what is seen; answers how it counts now.
    pub async fn visit(&self, record: &RuntimeRecord) -> AgentConnection {
        let now = self.clock.wall();
        let seen = match self.look(record).await {
            Ok(Some(seen)) => Some(AgentState::observed(seen.state, seen.errors, now)),
            Ok(None) => None,
            Err(why) => stale(record, &why, self.stale_after, now),
        };
        let Some(state) = seen else {
            return record.agent.as_ref().map_or(AgentConnection::Pending, |last| last.state);
        };
        if let Err(error) = self.systems.runtimes.set_agent(record.id, &state).await {
            tracing::warn!(%error, runtime = %record.id, "the state of an agent cannot be stored");
        }
        state.state
    }

    /// What the agent says; none where there can be no agent yet.
    async fn look(&self, record: &RuntimeRecord) -> Result<Option<agent::Seen>, String> {
        let Some(runtime) = resource::look(&self.systems, record).await.map_err(Problem::into_message)? else {
            return Ok(None);
        };
        let kubeconfig = resource::kubeconfig(&self.systems, &runtime).await.map_err(Problem::into_message)?;
        let Some(kubeconfig) = kubeconfig else { return Ok(None) };
        let cluster = (self.systems.connect)(kubeconfig.secret().clone()).await?;
        let connection: Option<Value> = cluster
            .find_if_served(Ask::get(&COMPASS_CONNECTIONS, "", agent::CONNECTION))
            .await
            .map_err(|error| described(&error))?;
        Ok(Some(agent::seen(connection.as_ref())))
    }
}

/// What to store of an agent that cannot be asked; nothing while the last look is fresh enough. The time
/// of that look stays the first thing said, however often this is stored anew.
fn stale(record: &RuntimeRecord, why: &str, after: Duration, now: Timestamp) -> Option<AgentState> {
    let last = record.agent.as_ref()?;
    if last.state == AgentConnection::Pending || now.since(last.observed_at) < after {
        return None;
    }
    let contact = match last.errors.as_slice() {
        [first, ..] if first.starts_with(NO_CONTACT) => first.clone(),
        _ => format!("{NO_CONTACT} since {} (given up after {})", last.observed_at, spell(after)),
    };
    Some(AgentState::observed(AgentConnection::Disconnected, [contact, why.to_owned()], now))
}

const NO_CONTACT: &str = "no contact with the cluster";

#[cfg(test)]
mod tests {
    use super::*;

    fn record(agent: Option<AgentState>) -> RuntimeRecord {
        RuntimeRecord {
            id: slipway_model::runtime_record::RuntimeId::EXAMPLE.parse().expect("example"),
            tenant: "acme".parse().expect("tenant"),
            sub_account: None,
            shoot_name: "c-1".parse().expect("name"),
            project: "p".parse().expect("project"),
            director_id: None,
            director_owned: false,
            created_at: Timestamp::from_micros(0),
            deleted_at: None,
            agent,
            version: 1,
        }
    }

    #[test]
    fn without_contact_an_agent_is_given_up_when_its_last_sign_is_stale_and_that_time_is_said() {
        let begin = Timestamp::from_micros(0);
        let seen = AgentState::observed(AgentConnection::Connected, [], begin);
        assert_eq!(stale(&record(None), "asleep", mins(15), begin + mins(60)), None, "never seen");
        assert_eq!(stale(&record(Some(seen.clone())), "asleep", mins(15), begin + mins(14)), None, "still fresh");
        let lost = stale(&record(Some(seen)), "asleep", mins(15), begin + mins(15)).expect("given up");
        assert_eq!(lost.state, AgentConnection::Disconnected);
        assert!(lost.errors[0].contains("1970-01-01T00:00:00") && lost.errors[1] == "asleep", "{:?}", lost.errors);
        let again = stale(&record(Some(lost.clone())), "asleep", mins(15), begin + mins(31)).expect("still");
        assert_eq!(again.errors[0], lost.errors[0], "the last contact was then, however often we look");
    }
}
