//! The whole test command: one place that says what "it passes" means, for people and machines.
//!
//! A failed part does not stop the later ones: whoever waited for the tests wants to know all that
//! is to be mended. Every cargo call selects the same packages, because another selection would
//! unite other features and build the dependencies a second time.
//!
//! The real servers are Go programs and take minutes where they were never built. They are built in
//! the background, at the lowest priority, while cargo works, and waited for before the tests.

mod stopwatch;
mod test_run;
pub(crate) mod tools;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    thread::{self, JoinHandle},
    time::Duration,
};

use self::{stopwatch::Stopwatch, test_run::Sum};

/// What the parts share.
struct Run<'a> {
    root: &'a Path,
    sum: Sum,
    servers: Option<JoinHandle<Result<PathBuf, String>>>,
}

/// One part of the run.
struct Part {
    name: &'static str,
    run: fn(&mut Run<'_>) -> Result<(), String>,
}

static PARTS: &[Part] = &[
    Part { name: "tools", run: |_| tools::ensure() },
    Part { name: "servers", run: begin_servers },
    Part { name: "format", run: |run| cargo(run.root, &["fmt", "--all", "--check"]) },
    Part {
        name: "lints",
        run: |run| cargo(run.root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Part {
        name: "tidy",
        run: |run| crate::tidy::run(run.root).then_some(()).ok_or_else(|| "the list above is to be mended".to_owned()),
    },
    // On its own, so that it overlaps with the servers.
    Part { name: "build", run: |run| cargo(run.root, &["test", "--workspace", "--no-run"]) },
    Part { name: "servers", run: await_servers },
    Part { name: "tests", run: |run| test_run::run(run.root, &mut run.sum) },
];

fn begin_servers(run: &mut Run<'_>) -> Result<(), String> {
    if crate::testbins::are_off() {
        println!("SLIPWAY_REAL=off: the suites run on our own servers only");
    } else {
        let root = run.root.to_owned();
        run.servers = Some(thread::spawn(move || crate::testbins::ensure(&root)));
    }
    Ok(())
}

fn await_servers(run: &mut Run<'_>) -> Result<(), String> {
    let Some(servers) = run.servers.take() else { return Ok(()) };
    let folder = servers.join().map_err(|_| "building them panicked".to_owned())??;
    println!("{}", folder.display());
    Ok(())
}

/// How one part ended.
struct Ended {
    name: &'static str,
    took: Duration,
    problem: Option<String>,
}

/// Runs all parts, prints how each ended and the sum of the tests, and answers whether all is well.
pub(crate) fn run(root: &Path) -> bool {
    let mut run = Run { root, sum: Sum::default(), servers: None };
    let mut ends = Vec::new();
    for part in PARTS {
        println!("==> {}", part.name);
        let stopwatch = Stopwatch::start();
        let problem = (part.run)(&mut run).err();
        if let Some(problem) = &problem {
            println!("==> {} FAILED: {problem}", part.name);
        }
        ends.push(Ended { name: part.name, took: stopwatch.took(), problem });
    }
    println!();
    for line in report(&ends) {
        println!("{line}");
    }
    println!("{}", run.sum);
    ends.iter().all(|end| end.problem.is_none())
}

fn report(ends: &[Ended]) -> Vec<String> {
    let line = |end: &Ended| {
        let verdict = end.problem.as_ref().map_or("ok".to_owned(), |problem| format!("FAILED: {problem}"));
        format!("{:<8}{:>8.1} s  {verdict}", end.name, end.took.as_secs_f64())
    };
    ends.iter().map(line).collect()
}

fn cargo(root: &Path, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    let status = command.args(args).current_dir(root).status();
    verdict(&format!("cargo {}", args.join(" ")), status)
}

pub(crate) fn verdict(command: &str, status: std::io::Result<ExitStatus>) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command}` ended with {status}")),
        Err(error) => Err(format!("`{command}` could not be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_how_long_each_part_took_and_which_failed() {
        let end = |name, millis, problem: Option<&str>| Ended {
            name,
            took: Duration::from_millis(millis),
            problem: problem.map(str::to_owned),
        };
        assert_eq!(
            report(&[
                end("format", 1240, None),
                end("lints", 61_000, Some("`cargo clippy` ended with exit status: 101"))
            ]),
            ["format       1.2 s  ok", "lints       61.0 s  FAILED: `cargo clippy` ended with exit status: 101"]
        );
    }

    #[test]
    fn a_command_that_cannot_be_started_is_a_problem_with_its_name() {
        let status = Command::new("no-such-program").status();
        let problem = verdict("no-such-program", status).expect_err("cannot start");
        assert!(problem.starts_with("`no-such-program` could not be started: "), "{problem}");
    }

    #[test]
    fn the_tests_come_last_so_that_their_sum_ends_the_output() {
        assert_eq!(PARTS.last().map(|part| part.name), Some("tests"));
    }
}
