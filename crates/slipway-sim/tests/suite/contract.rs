//! Runs a table of cases on a target and says how many ran.

use std::{
    env,
    future::Future,
    io::{self, Write as _},
    pin::Pin,
    sync::Arc,
};

use futures::{StreamExt as _, stream};

use crate::{cx::Cx, target::Target};

/// One assertion about a server.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Cx) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A file of cases.
pub(crate) struct Theme {
    pub(crate) name: &'static str,
    pub(crate) cases: &'static [Case],
}

/// A case that one target cannot pass, and why that is no fault of ours.
pub(crate) struct Exception {
    pub(crate) case: &'static str,
    /// How the target's name begins.
    pub(crate) target: &'static str,
    pub(crate) reason: &'static str,
}

/// Builds a table from the names of its functions.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$($crate::contract::Case { name: stringify!($name), run: |cx| Box::pin($name(cx)) }),*]
    };
}
pub(crate) use cases;

/// How many cases run side by side. More would not be faster on two cores, only harder to read.
const AT_ONCE: usize = 8;

/// Runs all cases; fails with the list of those that failed.
pub(crate) async fn run(suite: &str, themes: &[Theme], exceptions: &[Exception], target: Target) {
    let target = Arc::new(target);
    let wanted = env::var("SLIPWAY_CASES").unwrap_or_default();
    let mut excepted = Vec::new();
    let mut cases = Vec::new();
    for theme in themes {
        for case in theme.cases {
            let exception = exceptions.iter().find(|e| e.case == case.name && target.name.starts_with(e.target));
            match exception {
                Some(exception) => excepted.push(exception),
                None if format!("{}::{}", theme.name, case.name).contains(&wanted) => cases.push((theme.name, case)),
                None => {}
            }
        }
    }

    let ran = cases.len();
    let failed: Vec<String> = stream::iter(cases)
        .map(|(theme, case)| {
            let target = target.clone();
            async move {
                let cx = Cx::new(target, theme, case.name).await;
                // Its own task: a panic ends this case and not the run.
                let end = tokio::spawn((case.run)(cx)).await;
                end.err().map(|error| format!("{theme}::{}: {}", case.name, words_of(error)))
            }
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(|end| async { end })
        .collect()
        .await;

    let mut report = format!("{suite} contract: {} cases on {}", ran - failed.len(), target.name);
    for exception in &excepted {
        report += &format!("\n  without {}: {}", exception.case, exception.reason);
    }
    say(&report);
    assert!(failed.is_empty(), "{} of {ran} cases failed on {}:\n  {}", failed.len(), target.name, failed.join("\n  "));
}

/// The laws of a table: names are unique, exceptions name cases, and there are as many as promised.
pub(crate) fn check_table(themes: &[Theme], exceptions: &[Exception], at_least: usize) {
    let mut names: Vec<&str> = themes.iter().flat_map(|theme| theme.cases).map(|case| case.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "two cases share a name");
    assert!(all >= at_least, "only {all} cases");
    for exception in exceptions {
        assert!(names.contains(&exception.case), "{} is no case", exception.case);
    }
}

/// What a case panicked with.
fn words_of(error: tokio::task::JoinError) -> String {
    let panic = error.into_panic();
    let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    words.unwrap_or("it panicked without words").to_owned()
}

/// Says it past the test harness, which keeps the output of what passes to itself.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
