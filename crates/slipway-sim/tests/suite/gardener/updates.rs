//! To be written.
use crate::contract::{Case, cases};
pub(super) static CASES: &[Case] = cases![];
