//! The contract of Kubernetes: one set of assertions, run on the embedded server and on a real kube-apiserver.
//!
//! A case is one async function in a themed file and one line in that file's table; how they are run is told in
//! `kube_sandbox::contract`. What only one side can do stands in a short list with its reason, beside the table
//! of themes.
//!
//! `CONTRACT_CASES=<part of a name>` runs only some; the real server is the one in the folder that
//! `KUBEBUILDER_ASSETS` names. Without one the cases run on the embedded server alone, and the suite says so.

mod kubernetes;
