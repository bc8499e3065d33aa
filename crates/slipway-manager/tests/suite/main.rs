//! The suite of the manager: one binary, one file per story.
