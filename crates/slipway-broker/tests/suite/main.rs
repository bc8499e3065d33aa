//! The broker's processes as wholes: against the simulators, on simulated time and over sockets.

mod laws;
mod matrix;
mod pages;
mod sockets;
