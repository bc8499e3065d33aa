//! What Gardener's error codes mean for us.

use std::time::Duration;

use slipway_kube::{runtime::LastError, shoot::Shoot};
use slipway_model::time::mins;

/// Attempts we ask for, for one input.
pub(crate) const ATTEMPTS: u32 = 8;

/// Longest part of Gardener's descriptions that a message repeats.
const LONGEST: usize = 1_000;

/// Credentials that do not work do not heal by themselves.
const PERMANENT: [&str; 2] = ["ERR_INFRA_UNAUTHENTICATED", "ERR_INFRA_UNAUTHORIZED"];

/// Whether another attempt may help. No error at all means that nobody knows what to wait for.
pub(crate) fn is_retryable(errors: &[LastError]) -> bool {
    !errors.is_empty() && !errors.iter().flat_map(|error| &error.codes).any(|code| PERMANENT.contains(&code.as_str()))
}

/// How long to wait before asking for attempt `count + 1`: 1, 2, 4, 8, 15, 15 … minutes.
pub(crate) fn pause(count: u32) -> Duration {
    mins(2_u64.saturating_pow(count.min(10)).min(15))
}

/// Codes and descriptions, for a message.
pub(crate) fn describe(shoot: &Shoot) -> String {
    let Some(status) = &shoot.status else { return String::new() };
    let codes: Vec<&str> = status.last_errors.iter().flat_map(|error| &error.codes).map(String::as_str).collect();
    let mut words: Vec<&str> = status.last_errors.iter().map(|error| error.description.as_str()).collect();
    if words.is_empty()
        && let Some(operation) = &status.last_operation
    {
        words.push(&operation.description);
    }
    let text: String = words.join("; ").chars().take(LONGEST).collect();
    if codes.is_empty() { text } else { format!("[{}] {text}", codes.join(", ")) }
}

/// Whether Gardener says that no Seed can host it. The only sentence of Gardener's that is read: there is
/// no code for it.
pub(crate) fn says_no_seed(description: &str) -> bool {
    let text = description.to_lowercase();
    text.contains("seed") && (text.contains("none of the") || text.contains("no matching seed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(codes: &[&[&str]]) -> Vec<LastError> {
        let one = |codes: &&[&str]| LastError {
            codes: codes.iter().map(|code| (*code).to_owned()).collect(),
            ..LastError::default()
        };
        codes.iter().map(one).collect()
    }

    #[test]
    fn codes_are_classified_in_the_order_of_the_table() {
        for (codes, retryable) in [
            (vec![], false),
            (vec![&["ERR_INFRA_UNAUTHORIZED"][..]], false),
            (vec![&["ERR_INFRA_QUOTA_EXCEEDED"][..], &["ERR_INFRA_UNAUTHENTICATED"][..]], false),
            (vec![&["ERR_INFRA_QUOTA_EXCEEDED"][..]], true),
            (vec![&["ERR_CONFIGURATION_PROBLEM"][..]], true),
            (vec![&["ERR_PROBLEMATIC_WEBHOOK"][..]], true),
            (vec![&["ERR_SOMETHING_NEW"][..]], true),
            (vec![&[][..]], true),
        ] {
            assert_eq!(is_retryable(&errors(&codes)), retryable, "{codes:?}");
        }
    }

    #[test]
    fn attempts_are_asked_for_ever_more_slowly() {
        let minutes: Vec<u64> = (0..7).map(|count| pause(count).as_secs() / 60).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 15, 15, 15]);
    }

    #[test]
    fn the_sentence_about_seeds_is_recognised_and_others_are_not() {
        assert!(says_no_seed("Failed to schedule Shoot: none of the 12 seeds has the matching labels"));
        assert!(!says_no_seed("Waiting until the seed's gardenlet is ready"));
    }
}
