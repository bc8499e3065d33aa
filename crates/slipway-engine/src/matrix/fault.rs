//! What goes wrong, and where.

use std::fmt;

use slipway_model::StepStatus;

use super::{Run, World};

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowName {
    /// Stage.
    pub stage: &'static str,
    /// Step.
    pub step: &'static str,
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.stage, self.step)
    }
}

/// A call that a row makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// By whom.
    pub place: RowName,
    /// Which of the row's calls, from 0, over all its runs.
    pub number: usize,
    /// Method and path.
    pub line: String,
}

/// One thing going wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The row.
    pub place: RowName,
    /// What.
    pub kind: Kind,
    /// The call, where it is one that goes wrong.
    pub call: Option<Call>,
}

/// The ways to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The connection cannot be made, once.
    NotSentOnce,
    /// The server breaks before the effect, once.
    BrokenOnce,
    /// The server asks to come back later, once.
    BusyOnce,
    /// The effect happens, and the answer cannot be read, once.
    GarbledOnce,
    /// The effect happens, and the connection breaks before the answer, once.
    AnswerLost,
    /// The connection cannot be made, from this call on.
    NotSentForGood,
    /// The server breaks, from this call on.
    BrokenForGood,
    /// The server takes the request and never answers, from this call on.
    SilentForGood,
    /// The server refuses, from this call on.
    RefusedForGood,
    /// The program dies before the call.
    CrashBeforeCall,
    /// The program dies after the effect and before the answer.
    CrashAfterCall,
    /// The program dies when the row has ended and that is not written.
    CrashBeforeCommit,
    /// The program dies when the end of the row is written.
    CrashAfterCommit,
    /// The program dies while the row waits.
    CrashWhileWaiting,
}

impl Kind {
    const OF_CALLS: &'static [Self] = &[
        Self::NotSentOnce,
        Self::BrokenOnce,
        Self::BusyOnce,
        Self::GarbledOnce,
        Self::AnswerLost,
        Self::NotSentForGood,
        Self::BrokenForGood,
        Self::SilentForGood,
        Self::RefusedForGood,
        Self::CrashBeforeCall,
        Self::CrashAfterCall,
    ];

    /// Nothing can be done about it.
    pub const fn is_for_good(self) -> bool {
        matches!(self, Self::NotSentForGood | Self::BrokenForGood | Self::SilentForGood | Self::RefusedForGood)
    }

    /// The program dies.
    pub const fn is_crash(self) -> bool {
        match self {
            Self::CrashBeforeCall
            | Self::CrashAfterCall
            | Self::CrashBeforeCommit
            | Self::CrashAfterCommit
            | Self::CrashWhileWaiting => true,
            Self::NotSentOnce
            | Self::BrokenOnce
            | Self::BusyOnce
            | Self::GarbledOnce
            | Self::AnswerLost
            | Self::NotSentForGood
            | Self::BrokenForGood
            | Self::SilentForGood
            | Self::RefusedForGood => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSentOnce => "not sent, once",
            Self::BrokenOnce => "500, once",
            Self::BusyOnce => "429, once",
            Self::GarbledOnce => "garbled answer, once",
            Self::AnswerLost => "answer lost after the effect",
            Self::NotSentForGood => "not sent, for good",
            Self::BrokenForGood => "500, for good",
            Self::SilentForGood => "no answer, for good",
            Self::RefusedForGood => "400, for good",
            Self::CrashBeforeCall => "crash before the call",
            Self::CrashAfterCall => "crash after the effect",
            Self::CrashBeforeCommit => "crash before the commit",
            Self::CrashAfterCommit => "crash after the commit",
            Self::CrashWhileWaiting => "crash while waiting",
        })
    }
}

/// Everything that can go wrong at a row, given what it did when nothing went wrong. Empty if the
/// row did not run at all.
pub(super) fn faults_of<W: World>(place: RowName, calm: &Run<W>) -> Vec<Fault> {
    let statuses: Vec<_> = calm.commits.iter().filter(|(at, _)| *at == place).map(|(_, status)| *status).collect();
    let mut faults = Vec::new();
    for status in statuses {
        let kinds: &[Kind] = match status {
            StepStatus::Running | StepStatus::Retrying => &[Kind::CrashWhileWaiting],
            StepStatus::Done | StepStatus::Skipped | StepStatus::Failed => {
                &[Kind::CrashBeforeCommit, Kind::CrashAfterCommit]
            }
            StepStatus::NotApplicable | StepStatus::Disabled => &[],
        };
        for kind in kinds {
            let fault = Fault { place, kind: *kind, call: None };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    for call in calm.calls.iter().filter(|call| call.place == place) {
        faults.extend(Kind::OF_CALLS.iter().map(|kind| Fault { place, kind: *kind, call: Some(call.clone()) }));
    }
    faults
}
