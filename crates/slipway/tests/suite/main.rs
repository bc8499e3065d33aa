//! The real binary: real processes, real signals, real databases, on ports of the loopback
//! interface.

mod bad_starts;
mod bench_kube;
mod cli;
mod cluster;
mod clusters;
mod crash;
mod database_away;
mod disk_full;
mod fake_hello;
mod landscape;
mod manager_role;
mod processes;
mod provisioner_role;
mod redaction;
mod render_and_plan;
mod stopping;
