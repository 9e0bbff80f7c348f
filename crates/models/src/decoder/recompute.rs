//! Gradient checkpointing: the hidden states between layers are kept, and what is inside a layer is computed again.
//!
//! The graph of one layer exists at a time, so that memory grows with one layer's activations and one hidden state per
//! layer. Gradients come out part by part, because each part is a graph of its own; their sum is the gradient.
//!
//! # References
//!
//! Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.

use burn::module::Module;
use burn::tensor::{Gradients, Tensor};

use super::DecoderModel;
use super::loss::{Counted, CountedSequence, LOSS_ROWS_MAX};
use crate::dropout::Dropout;
use crate::pass::Pass;

impl DecoderModel {
    /// Returns the summed NLL in nats of the tokens that count and their number, and hands the gradients of `scale` times
    /// that sum to `add`, part by part, for the caller to sum.
    ///
    /// Equals the backward pass of [`Self::nll`] within rounding, with the same masks of dropout.
    ///
    /// # Panics
    ///
    /// Panics if no token counts, if the first of a sequence does, if the device computes no gradients, or if the
    /// architecture has an encoder.
    pub fn recomputed_gradients(
        &self,
        sequences: &[CountedSequence],
        scale: f64,
        dropout: Option<&mut Dropout>,
        mut add: impl FnMut(Gradients),
    ) -> (f64, usize) {
        assert!(self.network().start_token().is_none(), "layers of encoder-decoders are not computed again");
        let Counted { rows, indices, targets, .. } = Counted::new(sequences, None);
        let before_embedding = dropout.as_deref().cloned();
        let valid = self.valid();
        let inputs = valid.inputs(&valid.pass(rows.clone(), None), dropout);
        let (last, inputs) = inputs.split_last().expect("the hidden states after the last layer");
        let (nll, mut gradient) = self.head_gradients(&last.hidden, &indices, &targets, scale, &mut add);
        let pass = self.pass(rows, None);
        for (index, input) in inputs.iter().enumerate().rev() {
            gradient = self.layer_gradients(index, input, &pass, gradient, &mut add);
        }
        let embedded = self.network().embed(&pass, before_embedding.clone().as_mut());
        let unused = Tensor::<1>::zeros([1], &self.device()).require_grad();
        add(((embedded * Tensor::from_inner(gradient)).sum() + unused).backward());
        (nll, targets.len())
    }

    /// Returns what enters every layer, and what leaves the last.
    fn inputs(&self, pass: &Pass, mut dropout: Option<&mut Dropout>) -> Vec<Input> {
        let network = self.network();
        let mut hidden = network.embed(pass, dropout.as_deref_mut());
        let mut inputs = Vec::new();
        for index in 0..network.shape().n_layers {
            inputs.push(Input { hidden: hidden.clone(), dropout: dropout.as_deref().cloned() });
            hidden = network.layer(index, hidden, pass, None, dropout.as_deref_mut());
        }
        inputs.push(Input { hidden, dropout: None });
        inputs
    }

    /// Returns the NLL and its gradient with respect to the hidden states after the last layer.
    fn head_gradients(
        &self,
        hidden: &Tensor<2>,
        indices: &[u32],
        targets: &[u32],
        scale: f64,
        add: &mut impl FnMut(Gradients),
    ) -> (f64, Tensor<2>) {
        let mut total = 0.0;
        let mut gradient = hidden.zeros_like();
        for (indices, targets) in indices.chunks(LOSS_ROWS_MAX).zip(targets.chunks(LOSS_ROWS_MAX)) {
            let leaf = Tensor::from_inner(hidden.clone()).require_grad();
            let nll = self.nll_at_rows(&leaf, indices, targets);
            total += nll.clone().into_scalar::<f64>();
            let gradients = nll.mul_scalar(scale).backward();
            gradient = gradient + leaf.grad(&gradients).expect("the loss depends on the hidden states");
            add(gradients);
        }
        (total, gradient)
    }

    /// Returns the gradient with respect to what enters a layer, given that of what leaves it.
    fn layer_gradients(
        &self,
        index: usize,
        input: &Input,
        pass: &Pass,
        gradient: Tensor<2>,
        add: &mut impl FnMut(Gradients),
    ) -> Tensor<2> {
        let leaf = Tensor::from_inner(input.hidden.clone()).require_grad();
        let output = self.network().layer(index, leaf.clone(), pass, None, input.dropout.clone().as_mut());
        let gradients = (output * Tensor::from_inner(gradient)).sum().backward();
        let gradient = leaf.grad(&gradients).expect("a layer depends on what enters it");
        add(gradients);
        gradient
    }
}

/// What enters a layer, and the state of dropout before it.
struct Input {
    hidden: Tensor<2>,
    dropout: Option<Dropout>,
}
