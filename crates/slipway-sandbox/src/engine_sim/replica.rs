//! One machine of the story: starts the engine, and starts it again whenever it dies.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use slipway_engine::{Engine, EngineConfig, Event, Parts};
use slipway_model::{
    Bugs,
    time::{hours, mins, secs},
};

use slipway_store::testing::FlawedProgram;

use super::{
    chance::Chance,
    clock::SimClock,
    judge::Judge,
    steps::{SimSystems, World, registry},
    store::WeatheredStore,
    weather::{Site, Weather},
};

/// What a machine needs to run.
pub(crate) struct Machine {
    pub(crate) judge: Arc<Judge>,
    pub(crate) world: Arc<World>,
    pub(crate) weather: Weather,
    pub(crate) chance: Chance,
    pub(crate) bugs: Bugs,
    pub(crate) crashes: Arc<AtomicU64>,
    /// Knows the newest process tables; every story has one machine that does.
    pub(crate) is_new: bool,
}

impl Machine {
    /// Program after program, for ever.
    pub(crate) async fn run(self) {
        loop {
            self.one_program().await;
            // Down for a moment, sometimes for longer than a lease.
            let down = self.chance.millis(10, 8000);
            SimClock::new(None).rest(down).await;
        }
    }

    async fn one_program(&self) {
        let site = Site::new(self.weather, self.chance.part());
        let clock = SimClock::new(Some(site.clone()));
        let store = Arc::new(WeatheredStore { judge: self.judge.clone(), site: site.clone() });
        let engine = Engine::start(Parts {
            store: Arc::new(FlawedProgram::new(store, self.bugs)),
            registry: registry(self.is_new),
            systems: Arc::new(SimSystems { world: self.world.clone(), judge: self.judge.clone(), site: site.clone() }),
            clock: clock.clone(),
            random: Arc::new(self.chance.part()),
            config: EngineConfig {
                park_memory_max: secs(60),
                grace: secs(5),
                retention: hours(1),
                housekeeping: mins(1),
                bugs: self.bugs,
                ..EngineConfig::default()
            },
        });
        let listener = tokio::spawn(listen(engine.events(), self.judge.clone()));
        let fate = tokio::select! {
            biased;
            () = site.died.notified() => Fate::Crash,
            fate = self.fate(&site, &clock) => fate,
        };
        match fate {
            Fate::Crash => {
                self.crashes.fetch_add(1, Ordering::Relaxed);
                engine.abort();
            }
            Fate::Stop => {
                tokio::select! {
                    biased;
                    () = site.died.notified() => {}
                    () = engine.stop() => {}
                }
            }
        }
        listener.abort();
    }

    /// What befalls a program as long as there are faults: pauses, clock jumps, a crash out of the
    /// blue, a stop for a new version.
    async fn fate(&self, site: &Arc<Site>, clock: &SimClock) -> Fate {
        loop {
            clock.rest(self.chance.millis(1000, 20_000)).await;
            if self.weather.is_over() {
                return std::future::pending().await;
            }
            match self.chance.below(8) {
                0 if self.weather.crash > 0 => return Fate::Crash,
                1 => return Fate::Stop,
                2 | 3 => site.pause(self.chance.millis(500, 12_000)),
                4 => clock.jump(*self.chance.pick(&[3_600_000_000, -3_600_000_000])),
                _ => {}
            }
        }
    }
}

enum Fate {
    Crash,
    Stop,
}

async fn listen(mut events: tokio::sync::broadcast::Receiver<Event>, judge: Arc<Judge>) {
    while let Ok(event) = events.recv().await {
        if let Event::OperationFinished { operation, state, .. } = event {
            judge.published(operation, state);
        }
    }
}
