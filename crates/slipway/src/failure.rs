//! How a command fails: a sentence and an exit code.

use std::{fmt, process::ExitCode};

/// What the exit codes mean; shown by `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  it worked
  1  it failed, or the world around is not as it must be
  2  the command or the configuration is wrong
  3  there is no such thing";

/// Why a command did not work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It failed.
    Failed(anyhow::Error),
    /// The command or the configuration is wrong.
    Usage(anyhow::Error),
    /// There is no such thing.
    NotFound(anyhow::Error),
    /// It worked, and the answer is in the exit code too; the command's own help says what it means.
    Verdict(u8),
}

impl Failure {
    pub(crate) fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self::Failed(error.into())
    }

    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// Whether there is something to say about it.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self, Self::Verdict(_))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::Verdict(code) => *code,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // With its causes; none of ours repeats its cause.
            Self::Failed(error) | Self::Usage(error) | Self::NotFound(error) => write!(f, "{error:#}"),
            Self::Verdict(code) => write!(f, "the verdict is {code}"),
        }
    }
}
