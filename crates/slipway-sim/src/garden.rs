//! A Gardener garden, simulated.
//!
//! One engine plays the scheduler, the gardenlets and the controller manager, in two ways: on an
//! embedded Kubernetes API of its own, which then also enforces Gardener's rules (`Garden`), or
//! against a real kube-apiserver with a real gardener-apiserver behind it (`Driver`). The second
//! keeps the first honest.
//!
//! | part | is |
//! |---|---|
//! | [`rules`] | what is accepted: one table of rules |
//! | [`defaults`], [`admit`], [`generation`] | what the server adds to what a client wrote |
//! | [`kinds`], [`schema`] | the kinds, as rows for the embedded API, and their fields |
//! | [`engine`] | how Shoots live |
//! | [`certificates`], [`kubeconfig`], [`endpoints`] | how their clusters are reached |
//! | [`requests`] | what goes wrong with requests on demand |
//! | [`scenario`] | what happens from outside, and when |
//! | [`landscape`] | what there is at the beginning |
//! | [`control`], [`journal`], [`recording`], [`clock`] | what can be told and asked while it runs, and played again |
//! | [`state`] | everything it is, taken out and put in |

pub mod admit;
pub mod certificates;
pub mod chance;
pub mod cidr;
pub mod clock;
pub mod control;
pub mod cron;
pub mod defaults;
pub mod endpoints;
pub mod engine;

pub mod generation;
pub mod journal;
pub mod kinds;
pub mod kubeconfig;
pub mod landscape;
pub mod names;
pub mod problems;
pub mod profile;
pub mod quota;
pub mod recording;
pub mod requests;
pub mod rules;
pub mod scenario;
pub mod scheduler;
pub mod schema;
pub mod shoot;
pub mod state;
pub mod value;
pub mod version;
pub mod window;

mod run;

pub use clock::{Clock, Pace};
pub(crate) use run::CLUSTER;
pub use run::{Driver, Error, Garden, Options};
