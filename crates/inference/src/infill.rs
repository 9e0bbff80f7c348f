//! Fill-in-the-middle: the code after the cursor in the prompt, for models that were trained to read it.

use models::tokenizer::Tokenizer;

/// The spellings of the tokens that stand before the left context, before the right context and before what is written.
///
/// # References
///
/// Bavarian et al., *Efficient Training of Language Models to Fill in the Middle* (2022): prefix, suffix, middle.
const FAMILIES: [[&str; 3]; 5] = [
    // Qwen2.5-Coder, CodeGemma
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    // StarCoder, StarCoder2
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    // SantaCoder
    ["<fim-prefix>", "<fim-suffix>", "<fim-middle>"],
    // DeepSeek-Coder; the bars and blocks are no ASCII
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
    // CodeLlama
    ["▁<PRE>", "▁<SUF>", "▁<MID>"],
];

/// The tokens of a model that fills in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfillTokens {
    /// Stands before the left context and all that belongs to it.
    pub prefix: u32,
    /// Stands before the right context.
    pub suffix: u32,
    /// Stands before what is written.
    pub middle: u32,
}

impl InfillTokens {
    /// Looks for the tokens of a known family in a vocabulary.
    #[must_use]
    pub fn find(tokenizer: &Tokenizer) -> Option<Self> {
        FAMILIES.into_iter().find_map(|family| {
            let [prefix, suffix, middle] = family.map(|spelling| tokenizer.token(spelling));
            Some(Self { prefix: prefix?, suffix: suffix?, middle: middle? })
        })
    }
}

/// How much of the right context a prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Infill {
    /// The model's tokens.
    pub tokens: InfillTokens,
    /// Tokens of the right context, of which the first ones are kept.
    pub right_tokens_max: usize,
}

/// Bytes per token that are tokenized at all; more than any code has on average, so that the limit decides.
const BYTES_PER_TOKEN: usize = 16;

impl Infill {
    /// Returns the first tokens of a right context.
    #[must_use]
    pub fn right(&self, tokenizer: &Tokenizer, right_context: &str) -> Vec<u32> {
        let cut = right_context.floor_char_boundary(self.right_tokens_max.saturating_mul(BYTES_PER_TOKEN));
        let mut tokens = tokenizer.encode(&right_context[..cut]);
        tokens.truncate(self.right_tokens_max);
        tokens
    }

    /// Returns how many tokens stand around the left part, for a right context of `n_right` tokens.
    #[must_use]
    pub fn extra(&self, n_right: usize) -> usize {
        n_right + 3
    }
}
