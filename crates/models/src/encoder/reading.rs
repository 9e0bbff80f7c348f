//! What a token of an encoder sees of its text.

/// Which tokens of its text a token attends to; `is_decoder` of `config.json` says which.
///
/// Released code runs UniXcoder in three ways that come down to two. `RLCoder` loads it as it is, with a mask of what
/// is not padding: bidirectional. UniXcoder's own class sets `is_decoder`, but gives a mask of pairs of tokens, which
/// replaces the causal one: bidirectional too, with the same vectors. Only `is_decoder` with a mask of what is not
/// padding is causal.
///
/// # References
///
/// Guo et al., "`UniXcoder`: Unified Cross-Modal Pre-training for Code Representation", 2022; Wang et al., "`RLCoder`",
/// 2025.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionReading {
    /// All tokens: without `is_decoder`, or where `is_decoder` comes with a mask of pairs.
    #[default]
    Bidirectional,
    /// Those that precede it, and itself: `is_decoder`.
    Causal,
}

impl AttentionReading {
    /// Returns the reading of a configuration with the given `is_decoder`.
    #[must_use]
    pub fn from_is_decoder(is_decoder: bool) -> Self {
        if is_decoder { Self::Causal } else { Self::Bidirectional }
    }
}
