//! The sample process: greets an instance and waits until the greeting is read. It makes nothing
//! and costs nothing, so it is the way to try an installation.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Broker,
    steps::{HelloAnswer, HelloReport, HelloWorld},
};

/// The table. It runs as an update: the instance stays as it is.
pub static HELLO: ProcessTable<Broker> = ProcessTable {
    name: "hello",
    version: 1,
    kind: OperationType::Update,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage     weight  step
        row("greet",       1, &HelloWorld),
        row("greet",       1, &HelloReport),
        row("answer",      1, &HelloAnswer),
    ],
    finalizers: &[],
};
