//! The RoBERTa encoder (`CodeBERT`, `GraphCodeBERT`, `UniXcoder`): BERT's layers with positions counted from the padding token.
//!
//! # References
//!
//! Liu et al., "RoBERTa: A Robustly Optimized BERT Pretraining Approach", 2019.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::bert::{BertConfig, BertEmbeddings, BertEncoder};
use crate::dropout::Dropout;
use crate::encoder::TokenBatch;

/// The RoBERTa encoder without its pooler.
#[derive(Module, Debug)]
pub struct RobertaModel {
    /// Tokens, positions and token types to vectors.
    pub embeddings: BertEmbeddings,
    /// The layers.
    pub encoder: BertEncoder,
    padding_idx: usize,
}

impl RobertaModel {
    /// Creates the encoder whose weights are yet to be loaded.
    #[must_use]
    pub fn init(config: &BertConfig, device: &Device) -> Self {
        Self {
            embeddings: config.init_embeddings(device),
            encoder: config.init_encoder(device),
            padding_idx: config.pad_token_id as usize,
        }
    }

    /// Returns the last hidden states; those of padding have no meaning.
    ///
    /// The first token has position `padding_idx + 1`, and a padding token inside a sequence has position `padding_idx`
    /// and does not count.
    ///
    /// # Shapes
    ///
    /// - `batch`: `[batch, length]`
    /// - returns: `[batch, length, hidden_size]`
    ///
    /// # Panics
    ///
    /// Panics if the batch is longer than `max_position_embeddings - padding_idx - 1`.
    #[must_use]
    pub fn forward(&self, batch: &TokenBatch, mut dropout: Option<&mut Dropout>) -> Tensor<3> {
        let hidden = self.embeddings.forward(batch, &self.positions(batch), dropout.as_deref_mut());
        self.encoder.forward(hidden, batch, dropout)
    }

    fn positions(&self, batch: &TokenBatch) -> Vec<u32> {
        let padding = self.padding_idx as u32;
        let of_row = |row: &[u32]| {
            let mut position = padding;
            let of_token = |&token: &u32| {
                position += u32::from(token != padding);
                if token == padding { padding } else { position }
            };
            row.iter().map(of_token).collect::<Vec<u32>>()
        };
        batch.rows().flat_map(of_row).collect()
    }
}
