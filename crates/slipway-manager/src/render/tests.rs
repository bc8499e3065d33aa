//! Table tests of the transformers, one file per theme.

mod pools;
mod refusals;
mod spec;
mod wishes;

use serde_json::{Value, json};

use super::{
    trial::{World, entry, living},
    *,
};
