//! Runs all tests and counts them over all test programs, passing their output on as it comes.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// How long the provisioner's input is fuzzed.
const FUZZ_SECONDS: &str = "SLIPWAY_FUZZ_SECONDS";

/// Counts of tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

pub(super) fn run(root: &Path, sum: &mut Sum) -> Result<(), String> {
    // Without --no-fail-fast the sum would depend on which program fails first.
    let args = ["test", "--workspace", "--no-fail-fast"];
    let mut command = Command::new("cargo");
    command.args(args).current_dir(root);
    if std::env::var_os("SLIPWAY_REAL").is_none() {
        // By default a suite without the real servers says so and passes; not here.
        command.env("SLIPWAY_REAL", "required");
    }
    // Those that were built from these sources, whatever else the machine has.
    let servers = if crate::testbins::are_off() { PathBuf::new() } else { root.join(crate::testbins::LINK) };
    command.env("KUBEBUILDER_ASSETS", servers);
    if std::env::var_os(FUZZ_SECONDS).is_none() {
        // Everywhere else the fuzz of the provisioner's input takes a moment only.
        command.env(FUZZ_SECONDS, "60");
    }
    let outcome = run_and_count(&mut command, sum);
    judge(super::verdict(&format!("cargo {}", args.join(" ")), outcome), sum)
}

fn run_and_count(command: &mut Command, sum: &mut Sum) -> io::Result<std::process::ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    if let Some(output) = child.stdout.take() {
        pass_on(BufReader::new(output), &mut io::stdout().lock(), sum)?;
    }
    child.wait()
}

/// Copies the output and counts what it reports. By bytes, because a test may print anything.
fn pass_on(mut from: impl BufRead, to: &mut impl Write, sum: &mut Sum) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        sum.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// What the exit of cargo and the sum say together.
fn judge(verdict: Result<(), String>, sum: &mut Sum) -> Result<(), String> {
    match verdict {
        Err(problem) if sum.failed == 0 => {
            // It did not build, or a test program died before it could report. The last line must
            // not read as if nothing had failed.
            sum.failed = 1;
            Err(format!("{problem}, though no test reports a failure; counted as one"))
        }
        Err(problem) => Err(problem),
        Ok(()) if sum.passed == 0 => Err("no test ran".to_owned()),
        Ok(()) => Ok(()),
    }
}

impl Sum {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; others count nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for count in result.split(['.', ';']) {
            let Some((number, what)) = count.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s

test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s
test says: test result: ok. 99 passed
";

    #[test]
    fn results_of_all_programs_are_summed_and_the_output_is_passed_on_whole() {
        let (mut sum, mut shown) = (Sum::default(), Vec::new());
        pass_on(OUTPUT.as_bytes(), &mut shown, &mut sum).expect("memory");
        assert_eq!(sum.to_string(), "13 passed, 2 failed, 1 skipped");
        assert_eq!(shown, OUTPUT.as_bytes());
    }

    #[test]
    fn output_that_is_no_text_is_passed_on_too() {
        let (mut sum, mut shown) = (Sum::default(), Vec::new());
        pass_on(&b"\xff\xfe\nno newline at the end"[..], &mut shown, &mut sum).expect("memory");
        assert_eq!(shown, b"\xff\xfe\nno newline at the end");
    }

    #[test]
    fn a_run_without_tests_has_failed() {
        assert_eq!(judge(Ok(()), &mut Sum::default()), Err("no test ran".to_owned()));
    }

    #[test]
    fn a_program_that_died_without_a_result_is_counted() {
        let mut sum = Sum { passed: 5, ..Sum::default() };
        judge(Err("`cargo test` ended with exit status: 101".to_owned()), &mut sum).expect_err("failed");
        assert_eq!(sum.to_string(), "5 passed, 1 failed, 0 skipped");
    }
}
