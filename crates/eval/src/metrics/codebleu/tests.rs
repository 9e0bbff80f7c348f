//! Checks against the original implementations.
