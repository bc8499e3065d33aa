//! Stories of a whole server, told through `kube::Client`.
