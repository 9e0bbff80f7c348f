//! Reading a folder of `peft`, our own or Python's.

use std::collections::BTreeSet;
use std::path::Path;

use burn::tensor::{Tensor, TensorData};

use super::config::PeftConfig;
use super::{CONFIG_FILE, PREFIX, ROWS, SHARING, WEIGHTS_FILE, ending};
use crate::adapter::attach::{Adaptable, head};
use crate::adapter::lora::HEAD;
use crate::adapter::{Lora, TrainableRows};
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::linear::Linear;
use crate::tokenizer::Tokenizer;
use crate::weights::{Checkpoint, TensorSource};
use crate::{Error, Result};

impl Decoder {
    /// Freezes the model and attaches the adapter in a folder of `peft`.
    ///
    /// A tokenizer in the folder replaces the decoder's. Tables grow where the adapter has rows for tokens beyond them.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing or damaged, if the configuration asks for what is not implemented, or if
    /// the tensors do not fit the model (all that do not are listed).
    pub fn load_peft(&mut self, directory: &Path) -> Result<()> {
        let (config, model) = attached(self.model(), directory)?;
        let tokenizer_path = directory.join("tokenizer.json");
        if tokenizer_path.exists() {
            let tokenizer = Tokenizer::load(directory)?;
            tokenizer.check_fits(model.network().shape().vocab_size, &tokenizer_path)?;
            let known = self.tokenizer().highest();
            let is_new = |token: &u32| known.is_none_or(|known| *token > known);
            self.added.extend(config.tables.values().next().into_iter().flatten().filter(|token| is_new(token)));
            let eos = tokenizer.eos().or(self.tokenizer().eos());
            self.replace_tokenizer(tokenizer.with_eos(eos));
        }
        self.unmerged = None;
        drop(self.replace_model(model));
        Ok(())
    }
}

impl Encoder {
    /// Freezes the model and attaches the adapter in a folder of `peft`.
    ///
    /// # Errors
    ///
    /// Returns an error as [`Decoder::load_peft`] does, and if the adapter has rows for tokens beyond the vocabulary.
    pub fn load_peft(&mut self, directory: &Path) -> Result<()> {
        let (_config, mut model) = attached(&self.model, directory)?;
        let (n, vocab_size) = (model.token_embedding().1.n(), self.vocabulary_size());
        if n > vocab_size {
            let message = format!("row {} is outside the vocabulary of {vocab_size}", n - 1);
            return Err(Error::config(&directory.join(CONFIG_FILE), "trainable_token_indices", message));
        }
        self.model = model;
        Ok(())
    }
}

/// Returns a copy of `model`, frozen, with the adapter of a folder, and what the folder says of it.
fn attached<M: Adaptable>(model: &M, directory: &Path) -> Result<(PeftConfig, M)> {
    let config = PeftConfig::load(&directory.join(CONFIG_FILE))?;
    let checkpoint = Checkpoint::open(&directory.join(WEIGHTS_FILE))?;
    let mut model = model.clone().no_grad();
    let mut reader = Reader { checkpoint: &checkpoint, config: &config, used: BTreeSet::new(), problems: Vec::new() };
    reader.attach(&mut model)?;
    reader.finish()?;
    Ok((config, model))
}

struct Reader<'a> {
    checkpoint: &'a Checkpoint,
    config: &'a PeftConfig,
    used: BTreeSet<String>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn attach(&mut self, model: &mut impl Adaptable) -> Result<()> {
        let has_encoder = model.has_encoder();
        for (name, linear) in model.linears() {
            self.attach_lora(&name, linear)?;
        }
        let (name, embedding) = model.token_embedding();
        if let Some(rows) = self.rows(name, true)? {
            let rows = self.fit(rows, &embedding.weight.val(), name);
            let size = self.size(embedding.n());
            let stored = self.whole_table(name)?;
            embedding.map_weight(&mut |table| grown(table, stored.clone(), size));
            embedding.rows = rows.map(|(values, tokens)| TrainableRows::from_values(values, &tokens));
            if has_encoder {
                // Stored again for the encoder and for the decoder, which share the table.
                self.used.extend(SHARING.iter().flat_map(|table| self.keys(table)).collect::<Vec<_>>());
            }
        }
        match head(model.linears()) {
            Some(head) => {
                let size = self.size(head.size()[1]);
                let stored = self.whole_table(HEAD)?;
                head.map_outputs(&mut |table| grown(table, stored.clone(), size));
                if let Some(rows) = self.rows(HEAD, false)? {
                    let rows = self.fit(rows, &head.weight.val(), HEAD);
                    head.rows = rows.map(|(values, tokens)| TrainableRows::from_values(values, &tokens));
                }
            }
            // `peft` may write the rows of a tied head a second time.
            None => self.used.extend(self.keys(HEAD)),
        }
        Ok(())
    }

    fn attach_lora(&mut self, name: &str, linear: &mut Linear) -> Result<()> {
        let [a, b] = ["A", "B"].map(|matrix| format!("{PREFIX}{name}.lora_{matrix}.weight"));
        let shape = |key: &String| self.checkpoint.shapes().get(key).cloned();
        let (a_shape, b_shape) = match (shape(&a), shape(&b)) {
            (None, None) => return Ok(()),
            (Some(a), Some(b)) => (a, b),
            (stored, _) => {
                let missing = if stored.is_some() { b } else { a };
                self.problems.push(format!("missing {missing}"));
                return Ok(());
            }
        };
        self.used.extend([a.clone(), b.clone()]);
        let [input, output] = linear.size();
        let rank = a_shape[0];
        if a_shape != [rank, input] || b_shape != [output, rank] {
            self.problems
                .push(format!("{name}: A is {a_shape:?} and B {b_shape:?} on {input} inputs, {output} outputs"));
            return Ok(());
        }
        let read = |key: &str, shape| Ok(TensorData::new(self.checkpoint.read(key)?, shape));
        let (a, b): (Result<_>, Result<_>) = (read(&a, a_shape), read(&b, b_shape));
        let device = linear.weight.lazy_device();
        linear.lora = Some(Lora::from_data(a?, b?, self.config.scale, self.config.dropout, &device));
        Ok(())
    }

    /// Returns the rows of a table and their tokens, if the adapter has any.
    fn rows(&mut self, name: &str, is_embedding: bool) -> Result<Option<(TensorData, Vec<u32>)>> {
        let Some(key) = self.keys(name).into_iter().find(|key| key.ends_with(ROWS)) else {
            return Ok(None);
        };
        let by_default = if is_embedding { self.config.tables.get("") } else { None };
        let Some(tokens) = self.config.tables.get(ending(name)).or(by_default).cloned() else {
            return Ok(None);
        };
        let shape = self.checkpoint.shapes()[&key].clone();
        let values = self.checkpoint.read(&key)?;
        self.used.insert(key);
        Ok(Some((TensorData::new(values, shape), tokens)))
    }

    fn fit(
        &mut self,
        (rows, tokens): (TensorData, Vec<u32>),
        table: &Tensor<2>,
        name: &str,
    ) -> Option<(Tensor<2>, Vec<u32>)> {
        let [_vocabulary, width] = table.dims();
        if rows.shape()[..] != [tokens.len(), width] {
            let n = tokens.len();
            self.problems.push(format!("{name}: rows are {:?} for {n} tokens of width {width}", rows.shape().to_vec()));
            return None;
        }
        Some((Tensor::from_data(rows, &table.device()), tokens))
    }

    /// Returns how many rows a table must have for the tokens of the adapter.
    fn size(&self, n: usize) -> usize {
        let last = self.config.tables.values().flatten().max();
        last.map_or(n, |&last| n.max(last as usize + 1))
    }

    /// Returns the table that `peft` saves with the adapter of a model whose tables were resized.
    fn whole_table(&mut self, name: &str) -> Result<Option<TensorData>> {
        let Some(key) = self.keys(name).into_iter().find(|key| key.ends_with(".base_layer.weight")) else {
            return Ok(None);
        };
        let shape = self.checkpoint.shapes()[&key].clone();
        let values = self.checkpoint.read(&key)?;
        self.used.insert(key);
        Ok(Some(TensorData::new(values, shape)))
    }

    fn keys(&self, name: &str) -> Vec<String> {
        let prefix = format!("{PREFIX}{name}.");
        let is_row = |key: &&String| key.starts_with(&prefix) && !key.contains(".lora_");
        self.checkpoint.shapes().keys().filter(is_row).cloned().collect()
    }

    fn finish(mut self) -> Result<()> {
        let unused = self.checkpoint.shapes().keys().filter(|key| !self.used.contains(*key));
        self.problems.extend(unused.map(|key| format!("unexpected {key}")));
        let missing = self
            .config
            .tables
            .keys()
            .filter(|table| !table.is_empty() && !self.used.iter().any(|key| key.contains(&format!(".{table}."))));
        self.problems.extend(missing.map(|table| format!("missing rows of {table}")));
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(Error::Weights { path: self.checkpoint.path().to_owned(), message: self.problems.join("; ") })
    }
}

/// Returns `table` with at least `size` rows: new ones are those of `stored`, or 0 until a trained row replaces them.
fn grown(table: Tensor<2>, stored: Option<TensorData>, size: usize) -> Tensor<2> {
    let [n, width] = table.dims();
    if n >= size {
        return table;
    }
    let options = (&table.device(), table.dtype());
    let rest = match stored {
        Some(stored) if stored.shape()[..] == [size, width] => {
            Tensor::<2>::from_data(stored, options).narrow(0, n, size - n)
        }
        _ => Tensor::zeros([size - n, width], options),
    };
    Tensor::cat(vec![table, rest], 0)
}
