//! The arms of a generator's evaluation.

/// Plain decoding, which never asks the tool.
pub const PLAIN: &str = "plain";

/// Every arm by name.
pub const ARMS: [&str; 5] = [PLAIN, "toolgen_paper", "toolgen_released", "toolgen_beam", "toolgen_ranked"];
