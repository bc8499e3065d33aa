//! The API over real HTTP, with SQLite in a temporary folder. The outside system is an address
//! where nobody listens, so operations stay in their first step until somebody steers them.

mod auth;
mod bad_input;
mod clouds;
mod operations;
mod running;
