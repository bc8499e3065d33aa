//! The contract suites.
mod smoke;
