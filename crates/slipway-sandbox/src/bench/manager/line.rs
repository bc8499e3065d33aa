//! A line that is long: bytes arrive half a round trip after they were sent, in both directions.
//!
//! In front of a port, because then everything pays for the distance that pays for it in reality: requests,
//! events of a watch, and the handshakes of a new connection. The line has no limit of throughput.

use std::{io, net::SocketAddr, time::Duration};

use slipway_engine::SystemClock;
use slipway_model::ports::Clock as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// A line to a port of this machine. It ends when this is dropped.
pub(super) struct Line {
    address: SocketAddr,
    cuts: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

impl Line {
    /// Opens a line of this length on a free port.
    pub(super) async fn open(to: SocketAddr, round_trip: Duration, clock: SystemClock) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let (cuts, cut) = watch::channel(0);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(connection(near, to, round_trip, clock, cut.clone()));
            }
        });
        Ok(Self { address, cuts, task })
    }

    /// Where to call.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections there are.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn connection(
    near: TcpStream,
    to: SocketAddr,
    round_trip: Duration,
    clock: SystemClock,
    mut cut: watch::Receiver<u64>,
) {
    cut.mark_unchanged();
    let Ok(far) = TcpStream::connect(to).await else { return };
    if near.set_nodelay(true).and_then(|()| far.set_nodelay(true)).is_err() {
        return;
    }
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    // The kernel accepted at once; a real connection would have cost a round trip before the first byte.
    let there = carry(near_reads, far_writes, round_trip / 2, round_trip, clock);
    let back = carry(far_reads, near_writes, round_trip / 2, Duration::ZERO, clock);
    tokio::select! {
        _ = async { tokio::join!(there, back) } => {}
        _ = cut.changed() => {}
    }
}

/// Carries bytes one way: each piece arrives when its time has come, pieces behind it are under way meanwhile.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    delay: Duration,
    before_first: Duration,
    clock: SystemClock,
) {
    let (sender, mut pieces) = mpsc::channel::<(Duration, Vec<u8>)>(1024);
    let read = async move {
        let mut more = before_first;
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let due = clock.monotonic() + delay + std::mem::take(&mut more);
            if sender.send((due, piece[..length].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, piece)) = pieces.recv().await {
            let wait = due.saturating_sub(clock.monotonic());
            if !wait.is_zero() {
                clock.sleep(wait).await;
            }
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        // An end travels as far as the bytes before it.
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}
