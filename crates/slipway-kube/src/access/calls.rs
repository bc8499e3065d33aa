//! A seam for tests: somebody who stands before and after every call.
//!
//! A crash between two calls, an answer that is lost after its effect, a call that never leaves: all of
//! them happen at a call, and every call of the product passes here. A sweep therefore needs no list of
//! call sites; it counts them while an undisturbed run passes and then strikes at each number in turn. A hook
//! that never answers is a process that died there: whoever runs it drops the rest.

use slipway_model::ports::BoxFuture;

use super::{Ask, Error};

/// What becomes of a call.
#[derive(Debug)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It ends here, with this error.
    Fail(Error),
}

impl Verdict {
    pub(super) fn into_result(self) -> Result<(), Error> {
        match self {
            Self::Pass => Ok(()),
            Self::Fail(error) => Err(error),
        }
    }
}

/// Stands before and after every call.
pub trait Calls: Send + Sync + 'static {
    /// Before it leaves.
    fn before<'a>(&'a self, cluster: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict>;

    /// When it is answered, or failed.
    fn after<'a>(&'a self, cluster: &'static str, ask: &'a Ask, error: Option<&'a Error>) -> BoxFuture<'a, Verdict>;
}
