//! The configuration of a `CodeGen` checkpoint.

use serde_json::Value;

use super::N_PARTS;
use crate::Result;
use crate::config::Fields;
use crate::gpt2::GptSizes;
use crate::rope::{Pairing, Rope, RopeScaling};

/// Base of the rotary frequencies; no key changes it.
const ROPE_THETA: f64 = 10_000.0;

/// The sizes and constants of `CodeGen`, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeGenConfig {
    /// What GPT-2 has too.
    pub sizes: GptSizes,
    /// The first components of each head, which are rotated.
    pub rotary_dim: usize,
}

impl CodeGenConfig {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        if fields.optional::<Value>("auto_map")?.is_some() {
            // Such code (of CodeGen2, for one) may cut the fused projection otherwise, which no key would tell.
            return Err(fields.error("auto_map", "a CodeGen with code of its own is not implemented"));
        }
        let sizes = GptSizes::read(&mut fields, "codegen", 2048, 0.0)?;
        fields.only("scale_attn_weights", true)?;
        fields.only("tie_word_embeddings", false)?;
        let config = Self { sizes, rotary_dim: fields.required("rotary_dim")? };
        config.validate(&fields)?;
        fields.finish()?;
        Ok(config)
    }

    fn validate(&self, fields: &Fields) -> Result<()> {
        if !self.sizes.n_head.is_multiple_of(N_PARTS) {
            let message = format!("{} is not a multiple of {N_PARTS}", self.sizes.n_head);
            return Err(fields.error("n_head", message));
        }
        let head_dim = self.sizes.head_dim();
        if !self.rotary_dim.is_multiple_of(2) || !(1..=head_dim).contains(&self.rotary_dim) {
            let message = format!("{} is not an even number in 1..={head_dim}", self.rotary_dim);
            return Err(fields.error("rotary_dim", message));
        }
        Ok(())
    }

    /// Returns the rotary positions.
    #[must_use]
    pub fn rope(&self) -> Rope {
        Rope::new(self.rotary_dim, ROPE_THETA, RopeScaling::None, Pairing::Neighbors)
    }
}
