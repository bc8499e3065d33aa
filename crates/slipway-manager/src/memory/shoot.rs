//! What Gardener was given, and what it made of it.

use std::time::Duration;

use slipway_model::time::{mins, secs};

use crate::outcome::ConditionUpdate;

/// How long a cache may be behind a write of ours before we stop believing that it is only that.
const CACHE_LAG: Duration = secs(60);
/// How long what somebody else changes again after it was put back is left: two who disagree do not race.
const PUT_BACK_AGAIN: Duration = mins(10);
/// How long a refusal is believed. Somebody may have brought back what was missing in the garden.
const REFUSAL_HOLDS: Duration = mins(25);

/// What is remembered of the Shoot. A refusal stands beside the rest: who asks for what Gardener refuses still has the
/// Shoot of before.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShootMemory {
    input: Input,
    refused: Option<Refused>,
    put_back: Option<PutBack>,
}

/// How far our input is.
#[derive(Debug, Clone, Default)]
enum Input {
    /// This process has neither written it nor seen it done.
    #[default]
    Unknown,
    /// Written, and not seen done.
    Applied(Applied),
    /// Gardener is done with it, at this generation of the Shoot.
    Aligned { generation: i64, applied: Option<Applied> },
}

#[derive(Debug, Clone)]
struct Applied {
    hash: String,
    /// The Shoot's generation in the answer.
    generation: i64,
    at: Duration,
}

#[derive(Debug, Clone)]
struct Refused {
    hash: String,
    condition: ConditionUpdate,
    at: Duration,
}

/// Something that somebody else had changed was put back.
#[derive(Debug, Clone)]
struct PutBack {
    at: Duration,
    /// Which field, until Gardener is done with it.
    path: Option<String>,
}

impl ShootMemory {
    /// The input of this hash was taken, at this generation of the Shoot.
    pub(crate) fn note_applied(&mut self, hash: &str, generation: i64, at: Duration) {
        self.input = Input::Applied(Applied { hash: hash.to_owned(), generation, at });
        self.refused = None;
    }

    /// The input of this hash was refused: not sent again before something changes or the resync comes.
    pub(crate) fn note_refused(&mut self, hash: &str, condition: &ConditionUpdate, at: Duration) {
        self.refused = Some(Refused { hash: hash.to_owned(), condition: condition.clone(), at });
    }

    /// Somebody changed the Shoot, and what is ours in it is as it should be all the same.
    pub(crate) fn note_aligned(&mut self, generation: i64) {
        let applied = match std::mem::take(&mut self.input) {
            Input::Unknown => None,
            Input::Applied(applied) => Some(applied),
            Input::Aligned { applied, .. } => applied,
        };
        self.input = Input::Aligned { generation, applied };
    }

    /// Gardener is done with it. The first generation counts: what comes later was changed by somebody. So was what is
    /// beyond the generation that was `told` by those before, until it was compared.
    pub(crate) fn note_settled(&mut self, generation: Option<i64>, told: Option<i64>) {
        if let Some(put_back) = &mut self.put_back {
            put_back.path = None;
        }
        let Some(generation) = generation else { return };
        let is_first = match self.input {
            Input::Unknown => told.is_none_or(|told| generation <= told),
            Input::Applied(_) => true,
            Input::Aligned { .. } => false,
        };
        if is_first {
            self.note_aligned(generation);
        }
    }

    /// Somebody else's change was put back, or cannot be.
    pub(crate) fn begin_put_back(&mut self, at: Duration) {
        let path = self.put_back.take().and_then(|before| before.path);
        self.put_back = Some(PutBack { at, path });
    }

    /// What was sent puts this field back; none if it is about something else.
    pub(crate) fn note_put_back(&mut self, path: Option<&str>) {
        if let Some(put_back) = &mut self.put_back {
            put_back.path = path.map(str::to_owned);
        }
    }

    /// The Shoot is gone.
    pub(crate) fn note_gone(&mut self) {
        self.input = match std::mem::take(&mut self.input) {
            Input::Aligned { generation, .. } => Input::Aligned { generation, applied: None },
            Input::Unknown | Input::Applied(_) => Input::Unknown,
        };
    }

    fn applied(&self) -> Option<&Applied> {
        match &self.input {
            Input::Unknown => None,
            Input::Applied(applied) => Some(applied),
            Input::Aligned { applied, .. } => applied.as_ref(),
        }
    }

    /// The generation of the Shoot that our last write made; 0 if we wrote none.
    pub(crate) fn applied_generation(&self) -> i64 {
        self.applied().map_or(0, |applied| applied.generation)
    }

    /// Whether this was applied so lately that the cache may not have heard of it.
    pub(crate) fn is_echo(&self, hash: Option<&str>, now: Duration) -> bool {
        let is_fresh = |it: &Applied| Some(it.hash.as_str()) == hash && now.saturating_sub(it.at) < CACHE_LAG;
        self.applied().is_some_and(is_fresh)
    }

    /// What the Runtime was told when this was refused; none if it may be sent.
    pub(crate) fn refusal(&self, hash: Option<&str>, now: Duration) -> Option<&ConditionUpdate> {
        let holds = |it: &&Refused| Some(it.hash.as_str()) == hash && now.saturating_sub(it.at) < REFUSAL_HOLDS;
        self.refused.as_ref().filter(holds).map(|refused| &refused.condition)
    }

    /// The generation of the Shoot that was as it should be.
    pub(crate) fn aligned_generation(&self) -> Option<i64> {
        match self.input {
            Input::Aligned { generation, .. } => Some(generation),
            Input::Unknown | Input::Applied(_) => None,
        }
    }

    /// How long until a Shoot of this generation is compared with what it should be; none if nobody has changed it.
    ///
    /// Only one that was as it should be is watched for this: on the way there Gardener itself writes into it. Whoever
    /// starts believes what was `told` by those before, and reads only Shoots that went beyond it meanwhile.
    pub(crate) fn until_compared(&self, generation: i64, told: Option<i64>, now: Duration) -> Option<Duration> {
        let aligned = match self.input {
            Input::Aligned { generation, .. } => generation,
            Input::Unknown => told?,
            Input::Applied(_) => return None,
        };
        let quiet = self.put_back.as_ref().map_or(PUT_BACK_AGAIN, |it| now.saturating_sub(it.at));
        (generation > aligned).then(|| PUT_BACK_AGAIN.saturating_sub(quiet))
    }

    /// The field that is being put back.
    pub(crate) fn path_put_back(&self) -> Option<&str> {
        self.put_back.as_ref()?.path.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use slipway_kube::conditions::{Reason, Status, Type};

    use super::*;

    #[test]
    fn what_was_applied_is_an_echo_for_a_minute_and_a_later_write_starts_over() {
        let mut shoot = ShootMemory::default();
        shoot.note_applied("a", 5, secs(100));
        assert!(shoot.is_echo(Some("a"), secs(159)) && !shoot.is_echo(Some("a"), secs(160)));
        assert!(!shoot.is_echo(Some("b"), secs(101)) && !shoot.is_echo(None, secs(101)));
        shoot.note_settled(Some(5), None);
        assert!(shoot.is_echo(Some("a"), secs(159)) && shoot.applied_generation() == 5, "done or not");
        assert_eq!(shoot.until_compared(5, None, secs(200)), None, "nobody has changed it");
        assert_eq!(shoot.until_compared(6, None, secs(200)), Some(Duration::ZERO));
        shoot.note_applied("b", 6, secs(300));
        assert_eq!(shoot.until_compared(9, Some(1), secs(301)), None, "Gardener is not done with it");
        shoot.note_gone();
        assert_eq!((shoot.applied_generation(), shoot.is_echo(Some("b"), secs(301))), (0, false));
    }

    #[test]
    fn what_went_on_while_nobody_looked_is_compared_at_the_first_look() {
        let mut shoot = ShootMemory::default();
        assert_eq!(shoot.until_compared(5, None, secs(1)), None, "nobody has told");
        assert_eq!(shoot.until_compared(5, Some(5), secs(1)), None);
        assert_eq!(shoot.until_compared(6, Some(5), secs(1)), Some(Duration::ZERO));
        shoot.note_settled(Some(6), Some(5));
        assert_eq!(shoot.until_compared(6, Some(5), secs(1)), Some(Duration::ZERO), "it was not compared yet");
        shoot.note_aligned(6);
        assert_eq!((shoot.until_compared(6, Some(5), secs(1)), shoot.aligned_generation()), (None, Some(6)));
    }

    #[test]
    fn a_refusal_is_believed_for_a_while_and_ended_by_the_next_success() {
        let condition = ConditionUpdate::new(Type::Provisioned, Status::False, Reason::GardenerErr, "no");
        let mut shoot = ShootMemory::default();
        shoot.note_settled(Some(5), None);
        shoot.note_refused("b", &condition, secs(0));
        assert_eq!(shoot.refusal(Some("b"), mins(24)), Some(&condition));
        assert_eq!((shoot.refusal(Some("b"), mins(25)), shoot.refusal(Some("c"), secs(1))), (None, None));
        assert_eq!(
            shoot.until_compared(6, None, secs(1)),
            Some(Duration::ZERO),
            "the Shoot of before is still watched"
        );
        shoot.note_applied("c", 6, secs(2));
        assert_eq!(shoot.refusal(Some("b"), secs(3)), None);
    }

    #[test]
    fn what_was_put_back_is_told_until_gardener_is_done_and_not_put_back_again_at_once() {
        let mut shoot = ShootMemory::default();
        shoot.note_settled(Some(5), None);
        shoot.begin_put_back(secs(0));
        assert_eq!(shoot.path_put_back(), None, "not sent yet");
        shoot.note_applied("a", 7, secs(1));
        shoot.note_put_back(Some("spec.region"));
        assert_eq!(shoot.path_put_back(), Some("spec.region"));
        shoot.note_settled(Some(7), None);
        assert_eq!(shoot.path_put_back(), None);
        assert_eq!(shoot.until_compared(8, None, mins(4)), Some(mins(6)), "two who disagree do not race");
        shoot.note_aligned(8);
        shoot.note_settled(Some(9), None);
        assert_eq!(shoot.until_compared(9, None, mins(4)), Some(mins(6)), "the first generation counts");
    }
}
