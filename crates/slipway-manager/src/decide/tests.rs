//! Decisions as tables: what is observed on the left, what is decided on the right.
