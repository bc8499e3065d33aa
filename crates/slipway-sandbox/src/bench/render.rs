//! How many Shoots one core renders.
//!
//! Each example in turn, as a new Shoot and as the next form of a living one, and the hash alone: with
//! it the manager decides at every pass whether there is anything to render at all.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_server::{
    Clock as _, SystemClock,
    shoots::{Loaded, input_hash, render},
};

static EXAMPLES: &[&str] = &[
    include_str!("../../../../examples/runtime-aws.yaml"),
    include_str!("../../../../examples/runtime-azure.yaml"),
    include_str!("../../../../examples/runtime-gcp.yaml"),
    include_str!("../../../../examples/runtime-openstack.yaml"),
    include_str!("../../../../examples/runtime-alicloud.yaml"),
];

/// Measures on this thread, each line for so many seconds.
pub fn run(seconds: f64) -> Result<Value, String> {
    let new: Vec<Loaded> =
        EXAMPLES.iter().map(|text| Loaded::example(text, None)).collect::<Result<_, _>>().map_err(to_text)?;
    let mut living = Vec::new();
    for (text, one) in EXAMPLES.iter().zip(&new) {
        let shoot = render(&one.input()).map_err(to_text)?.into_value();
        living.push(Loaded::example(text, Some(shoot)).map_err(to_text)?);
    }
    let renders = |loaded: &Loaded| render(&loaded.input()).map(drop).map_err(to_text);
    Ok(json!({
        "new_shoots_per_second": per_second(seconds, &new, renders)?,
        "living_shoots_per_second": per_second(seconds, &living, renders)?,
        "hashes_per_second": per_second(seconds, &new, |loaded| {
            std::hint::black_box(input_hash(&loaded.input()));
            Ok(())
        })?,
    }))
}

fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn per_second(seconds: f64, all: &[Loaded], work: impl Fn(&Loaded) -> Result<(), String>) -> Result<u64, String> {
    let clock = SystemClock::default();
    let begun = clock.monotonic();
    let mut done = 0_u32;
    loop {
        // The clock is asked once for many: it is not what is measured.
        for _ in 0..20 {
            for one in all {
                work(one)?;
                done += 1;
            }
        }
        let took = clock.monotonic().saturating_sub(begun);
        if took >= Duration::from_secs_f64(seconds) {
            return Ok((f64::from(done) / took.as_secs_f64()).round() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_example_is_measured() {
        let report = super::run(0.0).expect("rendered");
        assert!(
            ["new_shoots_per_second", "living_shoots_per_second", "hashes_per_second"]
                .iter()
                .all(|line| report[line].as_u64() > Some(0))
        );
    }
}
