//! The broker's steps: one file each. A step runs because a table in `processes/` has a row for it.

pub mod hello_answer;
pub mod hello_report;
pub mod hello_world;

pub use hello_answer::HelloAnswer;
pub use hello_report::HelloReport;
pub use hello_world::HelloWorld;

use slipway_clients::{chain, hello};
use slipway_engine::StepError;
use slipway_model::Reason;

/// What a failed call to hello means for the operation, for operators and for users.
fn hello_failed(error: &hello::Error) -> StepError {
    StepError::new(Reason::HttpStatusCode, "the greeting service does not work", chain(error))
}
