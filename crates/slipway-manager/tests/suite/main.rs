//! The suite of the manager: one binary, one file per story.

mod definitions;
mod gardens;
mod list_ownership;
mod rendered_shoots;
