//! The layers of a block: each works on the norm of its input, to which it adds its result.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{T5Attention, T5Config};
use crate::activation::Activation;
use crate::attention::Mask;
use crate::cache::KeyValues;
use crate::dropout::{Dropout, drop_out};
use crate::linear::Linear;
use crate::norm::RmsNorm;

/// Attention of a text to itself.
#[derive(Module, Debug)]
pub struct T5LayerSelfAttention {
    /// Attention.
    pub SelfAttention: T5Attention,
    /// Norm before it.
    pub layer_norm: RmsNorm,
    dropout_rate: f64,
}

impl T5LayerSelfAttention {
    pub(super) fn new(config: &T5Config, has_positions: bool, device: &Device) -> Self {
        Self {
            SelfAttention: T5Attention::new(config, has_positions, device),
            layer_norm: RmsNorm::new(config.d_model, config.layer_norm_epsilon, device),
            dropout_rate: config.dropout_rate,
        }
    }

    pub(super) fn forward(
        &self,
        hidden: Tensor<2>,
        length: usize,
        mask: &Mask,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let normed = self.layer_norm.forward(hidden.clone());
        let (keys, values) = self.SelfAttention.keys_and_values(&normed, length, dropout.as_deref_mut());
        let keys_and_values = match cached {
            Some(cached) => cached.append(keys, values),
            None => (keys, values),
        };
        let attended = self.SelfAttention.forward(normed, length, keys_and_values, mask, dropout.as_deref_mut());
        hidden + drop_out(attended, self.dropout_rate, dropout)
    }

    pub(super) fn linears(&mut self, path: &str) -> impl Iterator<Item = (String, &mut Linear)> {
        named(self.SelfAttention.linears(), format!("{path}.SelfAttention"))
    }
}

/// Attention of the target to the source text.
#[derive(Module, Debug)]
pub struct T5LayerCrossAttention {
    /// Attention.
    pub EncDecAttention: T5Attention,
    /// Norm before it.
    pub layer_norm: RmsNorm,
    dropout_rate: f64,
}

impl T5LayerCrossAttention {
    pub(super) fn new(config: &T5Config, device: &Device) -> Self {
        Self {
            EncDecAttention: T5Attention::new(config, false, device),
            layer_norm: RmsNorm::new(config.d_model, config.layer_norm_epsilon, device),
            dropout_rate: config.dropout_rate,
        }
    }

    pub(super) fn forward(
        &self,
        hidden: Tensor<2>,
        length: usize,
        keys_and_values: &(Tensor<4>, Tensor<4>),
        mask: &Mask,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let normed = self.layer_norm.forward(hidden.clone());
        let (attention, keys_and_values) = (&self.EncDecAttention, keys_and_values.clone());
        let attended = attention.forward(normed, length, keys_and_values, mask, dropout.as_deref_mut());
        hidden + drop_out(attended, self.dropout_rate, dropout)
    }

    pub(super) fn linears(&mut self, path: &str) -> impl Iterator<Item = (String, &mut Linear)> {
        named(self.EncDecAttention.linears(), format!("{path}.EncDecAttention"))
    }
}

/// Feed-forward.
#[derive(Module, Debug)]
pub struct T5LayerFF {
    /// Two linear maps and an activation.
    pub DenseReluDense: T5DenseReluDense,
    /// Norm before them.
    pub layer_norm: RmsNorm,
    dropout_rate: f64,
}

impl T5LayerFF {
    pub(super) fn new(config: &T5Config, device: &Device) -> Self {
        Self {
            DenseReluDense: T5DenseReluDense::new(config, device),
            layer_norm: RmsNorm::new(config.d_model, config.layer_norm_epsilon, device),
            dropout_rate: config.dropout_rate,
        }
    }

    pub(super) fn forward(&self, hidden: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let normed = self.layer_norm.forward(hidden.clone());
        let fed = self.DenseReluDense.forward(&normed, self.dropout_rate, dropout.as_deref_mut());
        hidden + drop_out(fed, self.dropout_rate, dropout)
    }

    pub(super) fn linears(&mut self, path: &str) -> impl Iterator<Item = (String, &mut Linear)> {
        let T5DenseReluDense { wi, wi_0, wi_1, wo, .. } = &mut self.DenseReluDense;
        let inner = [("wi", wi.as_mut()), ("wi_0", wi_0.as_mut()), ("wi_1", wi_1.as_mut())];
        let inner = inner.into_iter().filter_map(|(name, linear)| linear.map(|linear| (name, linear)));
        named(inner.chain([("wo", wo)]), format!("{path}.DenseReluDense"))
    }
}

/// The feed-forward block, with a gate or without.
#[derive(Module, Debug)]
pub struct T5DenseReluDense {
    /// To the inner size, where there is no gate.
    pub wi: Option<Linear>,
    /// Gate.
    pub wi_0: Option<Linear>,
    /// What the gate multiplies.
    pub wi_1: Option<Linear>,
    /// Output.
    pub wo: Linear,
    #[module(skip)]
    dense_act_fn: Activation,
}

impl T5DenseReluDense {
    fn new(config: &T5Config, device: &Device) -> Self {
        let inner = || Linear::new(config.d_model, config.d_ff, false, device);
        Self {
            wi: (!config.is_gated_act).then(inner),
            wi_0: config.is_gated_act.then(inner),
            wi_1: config.is_gated_act.then(inner),
            wo: Linear::new(config.d_ff, config.d_model, false, device),
            dense_act_fn: config.dense_act_fn,
        }
    }

    fn forward(&self, hidden: &Tensor<2>, dropout_rate: f64, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let mut project = |linear: &Option<Linear>| {
            linear.as_ref().map(|linear| linear.forward(hidden.clone(), dropout.as_deref_mut()))
        };
        let activated = project(&self.wi).or_else(|| project(&self.wi_0));
        let activated = self.dense_act_fn.forward(activated.expect("a block has a gate or none"));
        let inner = match project(&self.wi_1) {
            Some(gated) => activated * gated,
            None => activated,
        };
        self.wo.forward(drop_out(inner, dropout_rate, dropout.as_deref_mut()), dropout)
    }
}

/// Returns linear layers under their names below `path`.
fn named<'a>(
    linears: impl IntoIterator<Item = (&'static str, &'a mut Linear)>,
    path: String,
) -> impl Iterator<Item = (String, &'a mut Linear)> {
    linears.into_iter().map(move |(name, linear)| (format!("{path}.{name}"), linear))
}
