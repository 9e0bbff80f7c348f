//! The architectures of decoders behind one interface, and the forward pass over their layers.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::cache::{Cache, KeyValues, Source};
use crate::codegen::CodeGen;
use crate::dropout::Dropout;
use crate::embedding::Embedding;
use crate::gpt2::Gpt2;
use crate::linear::Linear;
use crate::llama::Llama;
use crate::pass::{Padding, Pass, Rows};
use crate::qwen2::Qwen2;
use crate::rope::Rope;
use crate::starcoder2::Starcoder2;
use crate::t5::T5;

/// What the forward pass needs to know of an architecture.
#[derive(Debug, Clone)]
pub struct NetworkShape {
    /// Number of layers.
    pub n_layers: usize,
    /// Number of tokens.
    pub vocab_size: usize,
    /// Components of a hidden state.
    pub hidden_size: usize,
    /// Positions that the checkpoint was trained for.
    pub context_tokens_max: usize,
    /// Rotary positions, if the architecture has them.
    pub rope: Option<Rope>,
    /// What the layers with a sliding window see of what precedes, the position itself included.
    pub sliding_window: Option<usize>,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
}

/// A decoder without its tokenizer: one implementation for each architecture.
pub trait Network {
    /// Returns the sizes.
    fn shape(&self) -> NetworkShape;

    /// Returns the token that the decoder of an encoder-decoder reads first; none for a decoder alone.
    fn start_token(&self) -> Option<u32> {
        None
    }

    /// Returns what the decoder sees of source texts; none for a decoder alone.
    fn encode(&self, _source: &Rows, _dropout: Option<&mut Dropout>) -> Option<Source> {
        None
    }

    /// Adds to a pass what else the layers of this architecture share.
    fn prepare(&self, pass: Pass) -> Pass {
        pass
    }

    /// Returns the hidden states before the first layer.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch * length, hidden]`
    fn embed(&self, pass: &Pass, dropout: Option<&mut Dropout>) -> Tensor<2>;

    /// Returns the hidden states after layer `index`, whose keys and values are added to `cached`.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2>;

    /// Returns next-token logits from the hidden states after the last layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[rows, hidden]`
    /// - returns: `[rows, vocabulary]`
    fn head(&self, hidden: Tensor<2>) -> Tensor<2>;

    /// Returns the table of tokens under its name in the checkpoint (`model.embed_tokens`).
    fn token_embedding(&mut self) -> (&'static str, &mut Embedding);

    /// Returns every linear layer under its name in the checkpoint, a head that is not tied included (`lm_head`).
    fn linears(&mut self) -> Vec<(String, &mut Linear)>;
}

/// Returns logits from normalized hidden states: by the head, or by the table of tokens that it is tied to.
pub(crate) fn head_or_table(hidden: Tensor<2>, head: Option<&Linear>, table: &Embedding) -> Tensor<2> {
    match head {
        Some(head) => head.forward(hidden, None),
        None => table.products(hidden),
    }
}

/// Returns the linear layers of each layer under `PREFIX.INDEX.NAME`, and the head.
pub(crate) fn named_linears<'a, L: IntoIterator<Item = (&'static str, &'a mut Linear)>>(
    prefix: &str,
    layers: impl Iterator<Item = L>,
    head: Option<&'a mut Linear>,
) -> Vec<(String, &'a mut Linear)> {
    let named = layers.enumerate().flat_map(|(index, layer)| {
        layer.into_iter().map(move |(name, linear)| (format!("{prefix}.{index}.{name}"), linear))
    });
    named.chain(head.map(|head| ("lm_head".to_owned(), head))).collect()
}

/// A decoder of any architecture.
#[derive(Module, Debug)]
pub enum DecoderModel {
    /// Llama, Code Llama, DeepSeek-Coder, SmolLM2.
    Llama(Llama),
    /// Qwen2, Qwen2.5-Coder.
    Qwen2(Qwen2),
    /// `StarCoder2`.
    Starcoder2(Starcoder2),
    /// T5, `CodeT5`, `CodeT5+`.
    T5(T5),
    /// GPT-2, `CodeGPT`.
    Gpt2(Gpt2),
    /// `SantaCoder`, `StarCoder`: GPT-2 with other projections.
    GptBigCode(Gpt2),
    /// `CodeGen`.
    CodeGen(CodeGen),
}

impl DecoderModel {
    /// Returns the architecture's implementation.
    #[must_use]
    pub fn network(&self) -> &dyn Network {
        match self {
            Self::Llama(model) => model,
            Self::Qwen2(model) => model,
            Self::Starcoder2(model) => model,
            Self::T5(model) => model,
            Self::Gpt2(model) | Self::GptBigCode(model) => model,
            Self::CodeGen(model) => model,
        }
    }

    /// Returns the architecture's implementation, to be adapted.
    pub fn network_mut(&mut self) -> &mut dyn Network {
        match self {
            Self::Llama(model) => model,
            Self::Qwen2(model) => model,
            Self::Starcoder2(model) => model,
            Self::T5(model) => model,
            Self::Gpt2(model) | Self::GptBigCode(model) => model,
            Self::CodeGen(model) => model,
        }
    }

    /// Returns the device of the weights, with their gradient setting.
    #[must_use]
    pub fn device(&self) -> Device {
        match self {
            Self::Llama(model) => model.model.embed_tokens.device(),
            Self::Qwen2(model) => model.model.embed_tokens.device(),
            Self::Starcoder2(model) => model.model.embed_tokens.device(),
            Self::T5(model) => model.shared.device(),
            Self::Gpt2(model) | Self::GptBigCode(model) => model.transformer.wte.device(),
            Self::CodeGen(model) => model.transformer.wte.device(),
        }
    }

    /// Returns the pass that reads `rows` after what `cache` holds.
    #[must_use]
    pub fn pass(&self, rows: Rows, cache: Option<&Cache>) -> Pass {
        let shape = self.network().shape();
        let pass = Pass::new(rows, cache, shape.rope.as_ref(), shape.sliding_window, &self.device());
        self.network().prepare(pass)
    }

    /// Returns the tokens that the decoder reads of `rows`.
    ///
    /// Those are `rows` themselves, unless they are the source texts of an encoder-decoder, which precede all else: then
    /// `cache` keeps what the encoder reads in them, and the decoder begins with its start token.
    #[must_use]
    pub fn read_source(&self, rows: Rows, cache: &mut Cache, dropout: Option<&mut Dropout>) -> Rows {
        match self.network().start_token() {
            Some(start) if cache.source().is_none() => {
                if let Some(source) = self.network().encode(&rows, dropout) {
                    cache.set_source(source);
                }
                Rows::new(&vec![[start]; rows.n()], Padding::Right)
            }
            _ => rows,
        }
    }

    /// Returns the hidden states of the decoder's last layer, as [`Self::logits`] takes them; `rows` continue what the
    /// cache holds and are added to it.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch * length, hidden]`
    ///
    /// # Panics
    ///
    /// Panics if the architecture has an encoder and the cache holds no source texts ([`Self::read_source`]).
    #[must_use]
    pub fn hidden(&self, rows: Rows, mut cache: Option<&mut Cache>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let network = self.network();
        let pass = self.pass(rows, cache.as_deref());
        let mut hidden = network.embed(&pass, dropout.as_deref_mut());
        for index in 0..network.shape().n_layers {
            let cached = cache.as_mut().map(|cache| cache.layer_mut(index));
            hidden = network.layer(index, hidden, &pass, cached, dropout.as_deref_mut());
        }
        if let Some(cache) = cache {
            cache.advance(pass.positions(), pass.length());
        }
        hidden
    }

    /// Returns next-token logits from the hidden states after the last layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[rows, hidden]`
    /// - returns: `[rows, vocabulary]`
    #[must_use]
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        self.network().head(hidden)
    }
}
