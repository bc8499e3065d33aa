//! Hints between replicas through the server's notifications.
//!
//! A notification inside a transaction makes all notifying transactions of the server commit one
//! after the other, each with its disk flush. So it is sent behind the commit by a task of its own,
//! and many at once are one. It may get lost when the process dies in between: hints are a
//! courtesy, the poll is the guarantee.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    ports::Clock,
    time::{millis, secs},
};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinHandle},
};

use crate::hints::Hints;

const CHANNEL: &str = "slipway_due";
const NOTIFY: &str = "SELECT pg_notify('slipway_due', $1)";

/// A connection can die without telling, and then says nothing for ever. So it is made anew after
/// this much silence.
const SILENCE: Duration = secs(60);

/// Longest pause between two attempts to connect.
const LONGEST_PAUSE: Duration = secs(5);

/// The two tasks of a store: one tells, one listens. They end with it.
pub(super) struct Channel {
    news: watch::Sender<u64>,
    tasks: [AbortHandle; 2],
}

impl Channel {
    pub(super) fn open(
        pool: &PgPool,
        connect: PgConnectOptions,
        hints: Hints,
        clock: Arc<dyn Clock>,
        number: u64,
    ) -> Self {
        // Says who told, so that nobody is woken by their own news, which they had at once.
        let me = format!("{number:016x}");
        let (news, heard) = watch::channel(0);
        let teller: JoinHandle<()> = tokio::spawn(tell_forever(pool.clone(), heard, me.clone()));
        let listener: JoinHandle<()> = tokio::spawn(listen_forever(connect, hints, clock, me));
        Self { news, tasks: [teller.abort_handle(), listener.abort_handle()] }
    }

    pub(super) fn tell(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    pub(super) fn stop(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn tell_forever(pool: PgPool, mut heard: watch::Receiver<u64>, me: String) {
    while heard.changed().await.is_ok() {
        if let Err(error) = sqlx::query(NOTIFY).bind(&me).execute(&pool).await {
            tracing::debug!(%error, "other replicas could not be told; they find out by their poll");
        }
    }
}

async fn listen_forever(connect: PgConnectOptions, hints: Hints, clock: Arc<dyn Clock>, me: String) {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(secs(5)).connect_lazy_with(connect);
    let mut pause = millis(100);
    loop {
        match listen_once(&pool, &hints, clock.as_ref(), &me, &mut pause).await {
            Ok(()) => {}
            Err(error) => {
                tracing::debug!(%error, "the connection for hints is lost; connecting again");
                clock.sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Listens on one connection until it breaks or is silent for too long.
async fn listen_once(
    pool: &PgPool,
    hints: &Hints,
    clock: &dyn Clock,
    me: &str,
    pause: &mut Duration,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    *pause = millis(100);
    // Whatever was told while nobody listened.
    hints.give();
    loop {
        tokio::select! {
            heard = listener.try_recv() => match heard? {
                Some(news) if news.payload() == me => {}
                Some(_) => hints.give(),
                None => return Ok(()),
            },
            () = clock.sleep(SILENCE) => return Ok(()),
        }
    }
}
