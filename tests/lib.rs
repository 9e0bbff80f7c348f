//! Holds the integration tests of the workspace (see `it`).
