//! The clients over real sockets.

mod transport;
