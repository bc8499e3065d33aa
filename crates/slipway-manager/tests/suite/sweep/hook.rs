//! Who strikes: a hook that counts every outgoing call and hits one of them.
//!
//! A call site is not a line of code but what leaves the process: cluster, verb, resource, part, and which one of
//! these it is in the story. So a new call is a new site without anybody writing it down.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use slipway_kube::access::{Ask, Calls, Error, Verb, Verdict};
use slipway_model::ports::BoxFuture;

/// What leaves the process.
pub(crate) type Key = (&'static str, Verb, &'static str, &'static str);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) key: Key,
    pub(crate) nth: usize,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (cluster, verb, resource, part) = self.key;
        write!(f, "{cluster} {} {resource}/{part} #{}", verb.as_str(), self.nth)
    }
}

/// What happens at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// The process dies before the call.
    DiesBefore,
    /// The process dies after the call: nobody hears the answer.
    DiesAfter,
    /// 409.
    Conflict,
    /// 429 with `Retry-After`.
    Throttled,
    /// 500.
    Broken,
    /// The call is made, and its answer cannot be read.
    Garbage,
    /// The answer of an earlier version.
    Stale,
    /// The watch ends instead of telling this event.
    Closed,
    /// The event and those behind it come late.
    Late,
    /// The watch is too old: what happened meanwhile is never told, only the present.
    Expired,
}

impl How {
    pub(crate) const DEATHS: [Self; 2] = [Self::DiesBefore, Self::DiesAfter];
    pub(crate) const TROUBLES: [Self; 5] = [Self::Conflict, Self::Throttled, Self::Broken, Self::Garbage, Self::Stale];
    pub(crate) const EVENTS: [Self; 3] = [Self::Closed, Self::Late, Self::Expired];

    /// Whether it can happen to such a call: nobody hears the end of a watch, only a read can be stale, and
    /// the way into customers' clusters is not ours to tap.
    pub(crate) fn can_strike(self, (cluster, verb, ..): Key) -> bool {
        match self {
            Self::DiesAfter | Self::Garbage => verb != Verb::Watch,
            Self::Stale => matches!(verb, Verb::Get | Verb::List) && cluster != "skr",
            _ => true,
        }
    }
}

/// Where, and what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Blow {
    pub(crate) site: Site,
    pub(crate) how: How,
}

impl std::fmt::Display for Blow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {}", self.how, self.site)
    }
}

/// What passed since it was last set.
#[derive(Debug, Default)]
struct State {
    blow: Option<Blow>,
    calls: BTreeMap<Key, usize>,
    events: BTreeMap<Key, usize>,
    struck: bool,
    killed: bool,
    /// The call that was let through to be hit on its way back.
    under_way: Option<Key>,
}

/// The plan of one world. Clones are the same plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan(Arc<Mutex<State>>);

impl Plan {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("lock")
    }

    /// Counts anew, and strikes there.
    pub(crate) fn set(&self, blow: Option<Blow>) {
        *self.state() = State { blow, ..State::default() };
    }

    /// Ends it: what passed (calls, events), and whether the blow fell.
    pub(crate) fn end(&self) -> (BTreeMap<Key, usize>, BTreeMap<Key, usize>, bool) {
        let state = std::mem::take(&mut *self.state());
        (state.calls, state.events, state.struck)
    }

    /// Whether the process died; told once.
    pub(crate) fn take_killed(&self) -> bool {
        std::mem::take(&mut self.state().killed)
    }

    fn call(&self, key: Key) -> Option<How> {
        let mut state = self.state();
        let nth = state.calls.entry(key).or_default();
        *nth += 1;
        let nth = *nth;
        let how = state.blow.as_ref().filter(|blow| blow.site == Site { key, nth } && !is_event(blow.how))?.how;
        state.under_way = Some(key);
        match how {
            How::DiesAfter | How::Garbage | How::Stale => {}
            _ => state.struck = true,
        }
        state.killed |= how == How::DiesBefore;
        Some(how)
    }

    fn answer(&self, key: Key) -> Option<How> {
        let mut state = self.state();
        if state.under_way != Some(key) {
            return None;
        }
        state.under_way = None;
        let how = state.blow.as_ref()?.how;
        state.struck |= matches!(how, How::DiesAfter | How::Garbage);
        state.killed |= how == How::DiesAfter;
        Some(how)
    }

    /// Whether the answer to a read is to be an earlier one.
    pub(crate) fn is_stale(&self, cluster: &str, path: &str) -> bool {
        let state = self.state();
        let Some((at, _, resource, _)) = state.under_way else { return false };
        at == cluster
            && path.split('/').any(|part| part == resource)
            && state.blow.as_ref().is_some_and(|blow| blow.how == How::Stale)
    }

    /// The blow fell.
    pub(crate) fn note_struck(&self) {
        self.state().struck = true;
    }

    /// What happens to the next event of a watch.
    pub(crate) fn event(&self, cluster: &'static str, plural: &'static str) -> Option<How> {
        let mut state = self.state();
        let key = (cluster, Verb::Watch, plural, "event");
        let nth = state.events.entry(key).or_default();
        *nth += 1;
        let nth = *nth;
        let how = state.blow.as_ref().filter(|blow| blow.site == Site { key, nth } && is_event(blow.how))?.how;
        state.struck = true;
        Some(how)
    }
}

fn is_event(how: How) -> bool {
    How::EVENTS.contains(&how)
}

pub(crate) fn answered(code: u16, reason: &str) -> Error {
    let mut response = http::Response::builder().status(code);
    if code == 429 {
        response = response.header("Retry-After", "1");
    }
    let (head, ()) = response.body(()).expect("an answer").into_parts();
    let body = serde_json::json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason,
        "message": "struck by the sweep"});
    Error::answer(&head, body.to_string().as_bytes())
}

/// The hook of one process: dead is dead, whatever the plan says next.
pub(crate) struct Hook {
    plan: Plan,
    dead: AtomicBool,
}

impl Hook {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, dead: AtomicBool::new(false) }
    }

    /// Whether its process died.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    async fn die(&self) -> Verdict {
        self.dead.store(true, Ordering::SeqCst);
        pending().await
    }
}

fn key(cluster: &'static str, ask: &Ask) -> Key {
    (cluster, ask.verb, ask.resource.plural, ask.subresource)
}

impl Calls for Hook {
    fn before<'a>(&'a self, cluster: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if self.dead.load(Ordering::SeqCst) {
                return pending().await;
            }
            match self.plan.call(key(cluster, ask)) {
                Some(How::DiesBefore) => self.die().await,
                Some(How::Conflict) => Verdict::Fail(answered(409, "Conflict")),
                Some(How::Throttled) => Verdict::Fail(answered(429, "TooManyRequests")),
                Some(How::Broken) => Verdict::Fail(answered(500, "InternalError")),
                _ => Verdict::Pass,
            }
        })
    }

    fn after<'a>(&'a self, cluster: &'static str, ask: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if self.dead.load(Ordering::SeqCst) {
                return pending().await;
            }
            match self.plan.answer(key(cluster, ask)) {
                Some(How::DiesAfter) => self.die().await,
                Some(How::Garbage) => Verdict::Fail(Error::garbage("struck by the sweep")),
                _ => Verdict::Pass,
            }
        })
    }
}
