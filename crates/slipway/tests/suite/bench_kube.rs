//! `slipway bench kube`: one document with all its parts. What the figures are decides no test.

use serde_json::Value;

use crate::processes::{ended, slipway};

#[test]
fn a_tiny_run_prints_one_document_with_every_part() {
    let mut command = slipway();
    command.args(["bench", "kube", "--without-real", "--seconds", "0.05", "--objects", "20", "--watchers", "5"]);
    let (code, stdout, stderr) = ended(command);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("no real kube-apiserver: switched off by --without-real"), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).expect("one document");

    let lines = report["writes"].as_array().expect("lines");
    let key = |line: &Value| (line["load"].to_string(), line["object_bytes"].as_u64(), line["in_flight"].as_u64());
    let mut keys: Vec<_> = lines.iter().map(key).collect();
    keys.dedup();
    assert_eq!(keys.len(), 12);
    for line in lines {
        assert!(line["embedded"]["per_s"].as_f64() > Some(0.0), "{line}");
        assert!(line["embedded"]["took"]["p99_us"].as_u64() >= line["embedded"]["took"]["p50_us"].as_u64(), "{line}");
        assert!(line["real"].is_null() && line["embedded_vs_real"].is_null(), "{line}");
    }
    for flow in [&report["fan_out"]["embedded"], &report["held"]["embedded"]["with_watchers"]] {
        assert!(flow["events_per_s"].as_f64() > Some(0.0), "{flow}");
        assert!(flow["delay"]["samples"].as_u64() >= Some(5), "{flow}");
    }
    let held = &report["held"];
    assert_eq!((held["objects"].as_u64(), held["watchers"].as_u64()), (Some(20), Some(5)));
    assert!(held["embedded"]["list_bytes"].as_u64() > Some(20 * 9_000), "{held}");
    assert!(held["embedded"]["memory_before_bytes"].as_u64() > Some(0), "{held}");
    assert_eq!(report["real"], Value::Null);
}

#[test]
fn senseless_sizes_are_refused() {
    let mut command = slipway();
    command.args(["bench", "kube", "--watchers", "0"]);
    let (code, stdout, stderr) = ended(command);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("--watchers at least 1"), "{stderr}");
}
