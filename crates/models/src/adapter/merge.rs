//! Adapters folded into the weights, and how far that moves the logits.

use super::attach::Adaptable;
use crate::Decoder;
use crate::cache::Cache;
use crate::decoder::DecoderModel;
use crate::encoder::EncoderModel;
use crate::pass::{Padding, Rows};
use crate::{Error, Result};

/// How far folding an adapter into the weights moved the logits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergeReport {
    /// The largest absolute difference.
    pub drift_max: f32,
    /// The mean absolute difference.
    pub drift_mean: f64,
    /// The number of logits compared.
    pub n_logits: usize,
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
        let report = self.compare(&merged, prompts)?;
        if report.drift_max.is_nan() || report.drift_max > drift_max {
            return Err(Error::Drift { found: report.drift_max, max: drift_max });
        }
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

    fn compare(&self, merged: &DecoderModel, prompts: &[Vec<u32>]) -> Result<MergeReport> {
        let (mut max, mut sum, mut n) = (0.0_f32, 0.0_f64, 0);
        for prompt in prompts {
            for (before, after) in logits(self.model(), prompt).into_iter().zip(logits(merged, prompt)) {
                let drift = (before - after).abs();
                max = if drift.is_nan() { drift } else { max.max(drift) };
                sum += f64::from(drift);
                n += 1;
            }
        }
        if n == 0 {
            return Err(Error::adapter("prompts", "there is none to compare logits with"));
        }
        Ok(MergeReport { drift_max: max, drift_mean: sum / n as f64, n_logits: n })
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
