//! One set of assertions for two servers: how this crate is judged, and how you can judge what you build on it.
//!
//! A case is an async function. It gets a namespace of its own on a server it knows nothing about, so all cases
//! run side by side and none can ask which server it is talking to. [`run`] runs a table of them on a [`Target`]:
//! the embedded server, a real one (see [`crate::real`]), or whatever speaks for itself through [`Logins`].
//! Whatever a case expects and does not get is a panic, as in any test.
//!
//! `CONTRACT_CASES=<part of a name>` runs only some.

mod answer;
mod cx;
mod kubectl;
mod target;

use std::{
    env,
    future::Future,
    io::{self, Write as _},
    pin::Pin,
    sync::Arc,
};

use futures::{StreamExt as _, stream};

pub use self::{
    answer::{Answer, Json},
    cx::{Cx, PATIENCE, Patch, Watch, config_map},
    kubectl::{Following, Printed, Shell, columns, table},
    target::{Embedded, Logins, Target, kubectl},
};
pub use crate::cases;

/// One assertion about a server; [`cases!`] makes it of a function.
pub struct Case {
    /// The function's name: a sentence that is true of every right server.
    pub name: &'static str,
    /// The function.
    pub run: fn(Cx) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A file of cases.
pub struct Theme {
    /// What they are about; the namespaces of its cases begin with it.
    pub name: &'static str,
    /// The cases.
    pub cases: &'static [Case],
}

/// A case that one target cannot pass, and why that is no fault of ours.
pub struct Exception {
    /// The name of the case.
    pub case: &'static str,
    /// How the target's name begins.
    pub target: &'static str,
    /// Why it cannot; it is printed with every run.
    pub reason: &'static str,
}

/// Builds a table of [`Case`](contract::Case)s from the names of its functions.
#[macro_export]
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$($crate::contract::Case { name: stringify!($name), run: |cx| Box::pin($name(cx)) }),*]
    };
}

/// How many cases run side by side. More would not be faster on two cores, only harder to read.
const AT_ONCE: usize = 8;

/// Runs all cases; fails with the list of those that failed.
pub async fn run(suite: &str, themes: &[Theme], exceptions: &[Exception], target: Target) {
    let target = Arc::new(target);
    let wanted = env::var("CONTRACT_CASES").unwrap_or_default();
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
pub fn check_table(themes: &[Theme], exceptions: &[Exception], at_least: usize) {
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
pub fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
