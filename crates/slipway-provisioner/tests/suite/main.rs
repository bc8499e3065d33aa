//! The provisioner as its clients meet it.

mod api;
