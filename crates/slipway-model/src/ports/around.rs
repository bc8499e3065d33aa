//! A store around a store: for tests that make storage slow, faulty or wrong.

use super::{
    BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer, Registration, Storage,
    StoreResult, WakeListener,
};
use crate::{
    action::Action,
    id::{OperationId, ReplicaId, WaitKey},
    ledger::StepRecord,
    operation::{Fields, NewOperation, Operation, ProcessKey},
    recorder::Record,
    state::Class,
    time::Timestamp,
};

/// Declares [`AroundStore`] from the calls of the port, and makes whoever implements it a [`Storage`].
macro_rules! around_store {
    ($(fn $call:ident($($arg:ident: $type:ty),*) -> $answer:ty;)+) => {
        /// Passes every call of the port on to the store inside, but for those that it writes anew.
        pub trait AroundStore: Send + Sync + 'static {
            /// The store inside.
            fn inside(&self) -> &dyn Storage;

            /// Surrounds every call that is not written anew.
            fn surround<'a, T: Send + 'a>(
                &'a self,
                call: BoxFuture<'a, StoreResult<T>>,
            ) -> BoxFuture<'a, StoreResult<T>> {
                call
            }

            /// See [`Storage::listen`].
            fn listen(&self) -> Box<dyn WakeListener> {
                self.inside().listen()
            }

            $(
                #[doc = concat!("See [`Storage::", stringify!($call), "`].")]
                fn $call<'a>(&'a self, $($arg: $type),*) -> BoxFuture<'a, StoreResult<$answer>> {
                    self.surround(self.inside().$call($($arg),*))
                }
            )+
        }

        impl<S: AroundStore> Storage for S {
            fn listen(&self) -> Box<dyn WakeListener> {
                AroundStore::listen(self)
            }

            $(
                fn $call<'a>(&'a self, $($arg: $type),*) -> BoxFuture<'a, StoreResult<$answer>> {
                    AroundStore::$call(self, $($arg),*)
                }
            )+
        }
    };
}

around_store! {
    fn register(replica: &'a ReplicaId, known: &'a [ProcessKey]) -> Registration;
    fn heartbeat(replica: &'a ReplicaId, now: Timestamp) -> Heartbeat;
    fn take_over(dead: &'a Peer, now: Timestamp) -> usize;
    fn release(replica: &'a ReplicaId, now: Timestamp) -> usize;
    fn held(replica: &'a ReplicaId) -> Vec<(OperationId, u64)>;
    fn surrender(replica: &'a ReplicaId, leases: &'a [(OperationId, u64)], now: Timestamp) -> usize;
    fn enqueue(new: NewOperation, now: Timestamp) -> Enqueued;
    fn claim(request: &'a ClaimRequest) -> Claimed;
    fn commit(group: &'a [Commit]) -> Vec<CommitOutcome>;
    fn update(id: OperationId, expected_version: u64, fields: Fields, now: Timestamp) -> Option<u64>;
    fn wake(keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> usize;
    fn act(id: OperationId, action: &'a Action, by: &'a str, why: &'a str, now: Timestamp) -> Operation;
    fn operation(id: OperationId) -> Operation;
    fn operations(filter: &'a Filter) -> Vec<Operation>;
    fn steps(id: OperationId) -> Vec<StepRecord>;
    fn records(id: OperationId, after: u64, limit: usize) -> Vec<Record>;
    fn purge(before: Timestamp, limit: usize) -> usize;
    fn reencrypt(limit: usize) -> usize;
    fn due(now: Timestamp) -> Vec<(Class, usize)>;
    fn stranded() -> Vec<(ProcessKey, usize)>;
}
