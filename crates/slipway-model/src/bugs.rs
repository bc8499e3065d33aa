//! Known bugs of this field, to be switched on so that the simulation can prove that it would find
//! them. Nearly all are made around the store (`slipway_store::testing`), two inside the product. In a
//! build without debug assertions, so in every release, the set is always empty and each check folds
//! away.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{state::spelled, text::BadText};

spelled! {
    /// A mistake that capable teams have shipped.
    KnownBug, "known bug" {
        /// A replica that stops in good order forgets to give its operations back.
        LostOnRollout => "lost-on-rollout",
        /// Two pending operations of an instance both see "nobody runs" and both start.
        TwoPendingBothStart => "two-pending-both-start",
        /// The retry budget starts over with every restart.
        RetryClockResetByRestart => "retry-clock-reset-by-restart",
        /// The retry budget starts over with every write of the operation.
        RetryClockResetByWrite => "retry-clock-reset-by-write",
        /// A step's error is replaced by the good news that saving it worked.
        ErrorOverwrittenBySave => "error-overwritten-by-save",
        /// An operation whose save failed is never looked at again.
        DroppedWhenSaveFails => "dropped-when-save-fails",
        /// The end is published before it is durable.
        PublishedBeforeCommit => "published-before-commit",
        /// A paused replica comes back and writes over its successor.
        LeaseStolenByPausedReplica => "lease-stolen-by-paused-replica",
        /// An event between a step's look and its wait is slept over.
        WakeUpLostBeforeWait => "wake-up-lost-before-wait",
        /// Stage memory of an earlier lease is used under a new one.
        MemoryReusedAfterLeaseLoss => "memory-reused-after-lease-loss",
        /// A cancel that arrives while a step runs is slept over by the wait that follows.
        CancelLostDuringWait => "cancel-lost-during-wait",
        /// A version conflict is answered by writing the stale fields again.
        ConflictOverwritesField => "conflict-overwrites-field",
        /// A timer whose time has passed while nobody looked never fires.
        TimerInPastNeverFires => "timer-in-past-never-fires",
        /// A replica that was given up goes on as if nothing had happened.
        ZombieKeepsRunning => "zombie-keeps-running",
        /// A finished stage runs again after a restart.
        FinishedStageRunsAgain => "finished-stage-runs-again",
        /// A claim whose answer was lost leaves its operations with nobody.
        LostClaimNeverFound => "lost-claim-never-found",
    }
}

/// At most one known bug, switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bugs {
    #[cfg(debug_assertions)]
    switched_on: Option<KnownBug>,
}

impl Bugs {
    /// No bug.
    pub const NONE: Self = Self {
        #[cfg(debug_assertions)]
        switched_on: None,
    };

    /// One bug. Exists in builds with debug assertions only.
    #[cfg(debug_assertions)]
    pub const fn with(bug: KnownBug) -> Self {
        Self { switched_on: Some(bug) }
    }

    /// Whether this bug is switched on.
    #[inline]
    pub fn has(self, bug: KnownBug) -> bool {
        #[cfg(debug_assertions)]
        return self.switched_on == Some(bug);
        #[cfg(not(debug_assertions))]
        {
            let _ = bug;
            false
        }
    }
}
