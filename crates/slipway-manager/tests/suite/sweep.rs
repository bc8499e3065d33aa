//! The crash sweep: whatever goes wrong at whichever call, the world ends as if nothing had.
//!
//! An undisturbed life is recorded: every outgoing call and every event that was told is a site. Then the life is
//! played again for each of them, with the process killed there, with another answer, with an answer of
//! yesterday, with the event late or lost; and the end of each chapter must equal the recorded one. Nobody lists
//! the sites: a new call is swept the day it is written. By default the first few of a kind are struck, by death
//! before and after and by one other trouble; `SWEEP=full` strikes every site in every way.

pub(crate) mod hook;
mod replicas;
pub(crate) mod snapshot;
pub(crate) mod stage;
mod wire;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use slipway_model::ports::Clock as _;

use self::{
    hook::{Blow, How, Key, Site},
    stage::{Chapter, Stage},
};
use crate::world::Paced;

/// Worlds at the same time: more than cores, because lives also wait.
const STAGES: usize = 4;
/// How many calls or events of one kind are struck in a chapter by default: a limit of time, not of need.
const FEW: usize = 2;
/// Failures that are told; the sweep ends there.
const ENOUGH: usize = 6;

/// Chapters, and what happens in each.
type Life = Vec<(Chapter, Option<Blow>)>;

/// What is seen of one chapter while nothing is disturbed.
type Seen = (BTreeMap<Key, usize>, BTreeMap<Key, usize>);

/// An undisturbed life: how the world may be after each chapter, and what can be struck in it.
#[derive(Default)]
struct Undisturbed {
    worlds: BTreeMap<(Chapter, bool), Vec<Value>>,
    sites: BTreeMap<Chapter, Seen>,
}

impl Undisturbed {
    /// Each chapter before and after the Shoot's first patch and first update: they leave their mark in it.
    async fn record() -> Self {
        use Chapter::{Create, Delete, Drift, Due, Forced, Label, Recreate, Reload, Restart, Shards, Workers};
        let stage = Stage::set().await;
        let mut all = Self::default();
        for chapter in [
            Create, Label, Label, Forced, Restart, Due, Reload, Reload, Shards, Workers, Workers, Label, Label, Forced,
            Restart, Due, Reload, Reload, Drift, Shards, Recreate, Label, Label, Workers, Workers, Forced, Restart,
            Due, Reload, Reload, Drift, Shards, Recreate, Delete,
        ] {
            let played = stage.play(chapter, None, &[]).await;
            assert_eq!(played.problem, None, "{chapter:?} undisturbed");
            let worlds = all.worlds.entry((chapter, stage.is_on(chapter))).or_default();
            if !worlds.contains(&played.world) {
                worlds.push(played.world);
            }
            let known = all.sites.entry(chapter).or_default();
            for (seen, known) in [(played.calls, &mut known.0), (played.events, &mut known.1)] {
                for (key, count) in seen {
                    let most = known.entry(key).or_default();
                    *most = count.max(*most);
                }
            }
        }
        all
    }

    /// What happens in a chapter: death before and after each of the first few calls of a kind, and one of the
    /// other troubles by turns. Everything at every site takes minutes; it is played where `SWEEP=full`.
    fn blows(&self, chapter: Chapter) -> VecDeque<Blow> {
        let full = std::env::var("SWEEP").is_ok_and(|how| how == "full");
        let most = if full { usize::MAX } else { FEW };
        let (calls, events) = &self.sites[&chapter];
        let mut blows = VecDeque::new();
        let mut turn = chapter as usize;
        for (deaths, troubles, known) in
            [(&How::DEATHS[..], &How::TROUBLES[..], calls), (&[][..], &How::EVENTS[..], events)]
        {
            for (key, count) in known {
                for nth in 1..=(*count).min(most) {
                    let possible: Vec<How> = troubles.iter().copied().filter(|how| how.can_strike(*key)).collect();
                    turn += 1;
                    let chosen = if full { &possible[..] } else { &possible[turn % possible.len()..][..1] };
                    let deaths = deaths.iter().filter(|how| how.can_strike(*key));
                    let site = || Site { key: *key, nth };
                    blows.extend(deaths.chain(chosen).map(|how| Blow { site: site(), how: *how }));
                }
            }
        }
        blows
    }

    /// Lives in which everything happens once: each begins and ends, and what is between is shared out.
    fn lives(&self) -> VecDeque<Life> {
        let (mut creations, mut deletions) = (self.blows(Chapter::Create), self.blows(Chapter::Delete));
        let mut between = VecDeque::new();
        for chapter in Chapter::BETWEEN {
            let mut blows = self.blows(chapter);
            while let Some(there) = blows.pop_front() {
                between.push_back((chapter, Some(there)));
                // Where an edit goes, it comes back.
                if chapter.is_edit() {
                    between.push_back((chapter, blows.pop_front()));
                }
            }
        }
        let count = creations.len().max(deletions.len());
        let each = between.len().div_ceil(count).next_multiple_of(2);
        (0..count)
            .map(|_| {
                let middle: Vec<_> = between.drain(..each.min(between.len())).collect();
                let mut life = vec![(Chapter::Create, creations.pop_front())];
                life.extend(middle);
                life.push((Chapter::Delete, deletions.pop_front()));
                life
            })
            .collect()
    }
}

/// What came of all of it.
#[derive(Default)]
struct Tally {
    runs: usize,
    struck: usize,
    hit: BTreeSet<(Chapter, Key)>,
    failures: Vec<String>,
}

/// Plays lives until there are none.
async fn play(undisturbed: Arc<Undisturbed>, lives: Arc<Mutex<VecDeque<Life>>>, tally: Arc<Mutex<Tally>>) {
    let mut stage = Stage::set().await;
    loop {
        let life = lives.lock().expect("lock").pop_front();
        let Some(life) = life.filter(|_| tally.lock().expect("lock").failures.len() < ENOUGH) else { return };
        for (chapter, blow) in life {
            // Where the edit will have gone.
            let on = chapter.is_edit() && !stage.is_on(chapter);
            let wanted = &undisturbed.worlds[&(chapter, on)];
            let played = stage.play(chapter, blow.clone(), wanted).await;
            let mut tally = tally.lock().expect("lock");
            if let Some(blow) = blow {
                tally.runs += 1;
                if played.struck {
                    tally.struck += 1;
                    tally.hit.insert((chapter, blow.site.key));
                }
                if let Some(problem) = &played.problem {
                    tally.failures.push(format!("{chapter:?}, {blow}: {problem}"));
                }
            } else if let Some(problem) = &played.problem {
                tally.failures.push(format!("{chapter:?}, undisturbed: {problem}"));
            }
            if played.problem.is_some() {
                break;
            }
        }
        if stage.world.runtime(stage::NAME).is_some() {
            stage = Stage::set().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_at_whichever_call_the_world_ends_as_if_nothing_had() {
    let clock = Paced::new(1.0);
    let undisturbed = Arc::new(Undisturbed::record().await);
    let lives = undisturbed.lives();
    let number = lives.len();
    let (lives, tally) = (Arc::new(Mutex::new(lives)), Arc::new(Mutex::new(Tally::default())));
    let stages: Vec<_> =
        (0..STAGES).map(|_| tokio::spawn(play(undisturbed.clone(), lives.clone(), tally.clone()))).collect();
    for stage in stages {
        stage.await.expect("a stage");
    }
    let tally = tally.lock().expect("lock");
    let count = |of: fn(&Seen) -> &BTreeMap<Key, usize>| -> usize {
        undisturbed.sites.values().map(|seen| of(seen).values().sum::<usize>()).sum()
    };
    println!(
        "{} calls and {} events; {} runs in {number} lives, {} struck; {:.0?}",
        count(|seen| &seen.0),
        count(|seen| &seen.1),
        tally.runs,
        tally.struck,
        clock.monotonic(),
    );
    assert!(tally.failures.is_empty(), "{} failures:\n{}", tally.failures.len(), tally.failures.join("\n\n"));
    // A story is not played by the clock: one of many alike may not come, and a process that remembers asks less
    // than one that was just started. Of the kinds of calls in the chapters nearly all are struck.
    let all: BTreeSet<(Chapter, Key)> = undisturbed
        .sites
        .iter()
        .flat_map(|(chapter, (calls, events))| calls.keys().chain(events.keys()).map(|key| (*chapter, *key)))
        .collect();
    let missed: Vec<_> = all.difference(&tally.hit).collect();
    assert!(missed.len() * 10 <= all.len(), "of {} never struck: {missed:?}", all.len());
}
