//! Adapters folded into the weights, and how far that moves the logits.

use super::attach::Adaptable;
use crate::Decoder;
use crate::cache::Cache;
use crate::decoder::DecoderModel;
use crate::encoder::{Encoder, EncoderModel};
use crate::pass::{Padding, Rows};
use crate::{Error, Result};

/// How far folding an adapter into the weights moved the logits of a decoder or the vectors of an encoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergeReport {
    /// The largest absolute difference.
    pub drift_max: f32,
    /// The mean absolute difference.
    pub drift_mean: f64,
    /// The number of logits, or of components of vectors, compared.
    pub n_outputs: usize,
}

impl MergeReport {
    /// Compares what a model gives before and after.
    fn new(before: &[f32], after: &[f32]) -> Result<Self> {
        if before.is_empty() {
            return Err(Error::adapter("prompts", "there is none to compare outputs with"));
        }
        let (mut max, mut sum) = (0.0_f32, 0.0_f64);
        for (before, after) in before.iter().zip(after) {
            let drift = (before - after).abs();
            max = if max.is_nan() || drift.is_nan() { f32::NAN } else { max.max(drift) };
            sum += f64::from(drift);
        }
        Ok(Self { drift_max: max, drift_mean: sum / before.len() as f64, n_outputs: before.len() })
    }

    /// Refuses a drift above `drift_max`.
    fn check(self, drift_max: f32) -> Result<Self> {
        if self.drift_max.is_nan() || self.drift_max > drift_max {
            return Err(Error::Drift { found: self.drift_max, max: drift_max });
        }
        Ok(self)
    }
}

impl DecoderModel {
    /// Returns the model with every adapter folded into the weights; this one is left as it is.
    #[must_use]
    pub fn merged(&self) -> Self {
        merged(self)
    }
}

impl EncoderModel {
    /// Returns the model with every adapter folded into the weights; this one is left as it is.
    #[must_use]
    pub fn merged(&self) -> Self {
        merged(self)
    }
}

fn merged<M: Adaptable>(model: &M) -> M {
    let mut model = model.clone();
    model.linears().into_iter().for_each(|(_, linear)| linear.merge());
    model.token_embedding().1.merge();
    model
}

impl Decoder {
    /// Folds every adapter into the weights, after comparing the logits of every token of `prompts` before and after.
    ///
    /// The adapters and the weights without them are kept for [`Self::unmerge`].
    ///
    /// # Errors
    ///
    /// Returns an error if there is no prompt to compare with, or if a logit moves by more than `drift_max`; nothing is
    /// folded then.
    ///
    /// # Panics
    ///
    /// Panics if a prompt is empty, holds a token outside the vocabulary or exceeds the context.
    pub fn merge(&mut self, prompts: &[Vec<u32>], drift_max: f32) -> Result<MergeReport> {
        let merged = self.model().merged();
        let all = |model: &DecoderModel| prompts.iter().flat_map(|prompt| logits(model, prompt)).collect::<Vec<f32>>();
        let report = MergeReport::new(&all(self.model()), &all(&merged))?.check(drift_max)?;
        let before = self.unmerged.take();
        let replaced = self.replace_model(merged);
        self.unmerged = Some(before.unwrap_or(replaced));
        Ok(report)
    }

    /// Takes the adapters out of the weights again, which are then bit for bit what they were; returns whether there was
    /// anything to take out.
    pub fn unmerge(&mut self) -> bool {
        let Some(unmerged) = self.unmerged.take() else {
            return false;
        };
        drop(self.replace_model(unmerged));
        true
    }
}

impl Encoder {
    /// Folds every adapter into the weights, after comparing the vectors of `sequences`, which include their special
    /// tokens, before and after.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no sequence to compare with, or if a component of a vector moves by more than
    /// `drift_max`; nothing is folded then.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::embed_batch`] does.
    pub fn merge(&mut self, sequences: &[Vec<u32>], drift_max: f32) -> Result<MergeReport> {
        let merged = self.with_model(self.model.merged());
        let all = |encoder: &Self| -> Vec<f32> {
            let vectors = sequences.iter().map(|sequence| encoder.embed_batch(std::slice::from_ref(sequence), None));
            vectors.flat_map(|vector| vector.into_data().iter::<f32>().collect::<Vec<f32>>()).collect()
        };
        let report = MergeReport::new(&all(self), &all(&merged))?.check(drift_max)?;
        *self = merged;
        Ok(report)
    }
}

/// Returns the logits after every token; an encoder-decoder reads the tokens as its source first.
fn logits(model: &DecoderModel, tokens: &[u32]) -> Vec<f32> {
    let mut cache = Cache::new(model.network().shape().n_layers);
    if model.network().start_token().is_some() {
        let _starts = model.read_source(Rows::new(&[tokens], Padding::Right), &mut cache, None);
    }
    let hidden = model.hidden(Rows::new(&[tokens], Padding::Right), Some(&mut cache), None);
    model.logits(hidden).into_data().iter::<f32>().collect()
}
