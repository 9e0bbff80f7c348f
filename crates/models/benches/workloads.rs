//! The workloads of the benchmarks, on random weights or real ones.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};
use models::decoder::{CountedSequence, DecoderModel};
use models::{
    AdapterConfig, Decoder, DeviceSpec, Dropout, Encoder, LanguageModel, LoraConfig, ScoredSequence, Workers, device,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Sequences that a worker encodes at once.
const ENCODED_AT_ONCE: usize = 4;

/// Runs workloads by their names.
pub(crate) struct Workloads {
    encoder: Option<PathBuf>,
    decoder: Option<PathBuf>,
    loaded_encoder: Option<Encoder>,
    loaded_decoder: Option<Decoder>,
    adapted: Option<DecoderModel>,
    workers: Workers,
}

impl Workloads {
    /// Prepares workloads on models that are loaded when first needed.
    pub(crate) fn new(encoder: Option<PathBuf>, decoder: Option<PathBuf>, n_workers: usize) -> Self {
        let workers = Workers::new(n_workers);
        Self { encoder, decoder, loaded_encoder: None, loaded_decoder: None, adapted: None, workers }
    }

    /// Loads the model of the workload `name`.
    pub(crate) fn load(&mut self, name: &str) -> Result<(), String> {
        match name {
            "encode" | "contrastive" => self.encoder().map(drop),
            "lora" => self.adapted().map(drop),
            _ => self.decoder().map(drop),
        }
    }

    /// Runs the workload `name` once and returns a number that depends on all of it.
    pub(crate) fn run(&mut self, name: &str) -> Result<f64, String> {
        match name {
            "encode" => self.encode(32, 256),
            "contrastive" => self.contrastive(16, 12, 256),
            "prefill_1x512" => self.score(1, 512, 1),
            "prefill_8x512" => self.score(8, 512, 1),
            "score_8x512" => self.score(8, 512, 32),
            "decode" => self.decode(128, 48),
            "lora" => self.lora(4, 512),
            _ => Err(format!("{name} is no workload")),
        }
    }

    fn encoder(&mut self) -> Result<Encoder, String> {
        if self.loaded_encoder.is_none() {
            let path = self.encoder.as_deref().ok_or("no encoder")?;
            self.loaded_encoder = Some(Encoder::load(path, &cpu()?.autodiff()).map_err(|error| error.to_string())?);
        }
        self.loaded_encoder.clone().ok_or_else(|| "no encoder".to_owned())
    }

    fn decoder(&mut self) -> Result<&Decoder, String> {
        if self.loaded_decoder.is_none() {
            let path = self.decoder.as_deref().ok_or("no decoder")?;
            self.loaded_decoder = Some(Decoder::load(path, &cpu()?).map_err(|error| error.to_string())?);
        }
        self.loaded_decoder.as_ref().ok_or_else(|| "no decoder".to_owned())
    }

    /// Returns the decoder with adapters of rank 16 on the projections of attention.
    fn adapted(&mut self) -> Result<DecoderModel, String> {
        if self.adapted.is_none() {
            let path = self.decoder.as_deref().ok_or("no decoder")?;
            let decoder = Decoder::load(path, &cpu()?.autodiff()).map_err(|error| error.to_string())?;
            let targets = ["q_proj", "k_proj", "v_proj", "o_proj"].map(str::to_owned).to_vec();
            let lora = Some(LoraConfig { rank: 16, alpha: 32.0, dropout: 0.05, targets });
            let mut model = decoder.model().clone();
            let config = AdapterConfig { lora, tokens: Vec::new() };
            model.adapt(&config, &mut ChaCha8Rng::seed_from_u64(0)).map_err(|error| error.to_string())?;
            self.adapted = Some(model);
        }
        self.adapted.clone().ok_or_else(|| "no decoder".to_owned())
    }

    /// Embeds sequences.
    fn encode(&mut self, n: usize, length: usize) -> Result<f64, String> {
        let encoder = self.encoder()?.valid();
        let batches: Vec<_> = sequences(n, length, 30_000).chunks(ENCODED_AT_ONCE).map(<[_]>::to_vec).collect();
        let sums = self.workers.map(batches, |_, batch| encoder.embed_batch(&batch, None).sum().into_scalar::<f64>());
        Ok(sums.iter().sum())
    }

    /// One step of contrastive training with dropout: each query against its own candidates.
    fn contrastive(&mut self, n_queries: usize, group: usize, length: usize) -> Result<f64, String> {
        let encoder = self.encoder()?;
        let groups: Vec<_> = sequences(n_queries * group, length, 30_000).chunks(group).map(<[_]>::to_vec).collect();
        let results = self.workers.map(groups, |index, group| {
            let encoder = encoder.fork();
            let mut dropout = Dropout::new(ChaCha8Rng::seed_from_u64(index as u64));
            let loss = contrast(encoder.embed_batch(&group, Some(&mut dropout))).div_scalar(n_queries as f64);
            let value = loss.clone().into_scalar::<f64>();
            (value, GradientsParams::from_grads(loss.backward(), &encoder.model))
        });
        Ok(step(encoder.model, results, 1e-5))
    }

    /// One step of training the adapters on the NLL of every token, with dropout.
    fn lora(&mut self, n: usize, length: usize) -> Result<f64, String> {
        let model = self.adapted()?;
        let sequences = sequences(n, length, model.network().shape().vocab_size);
        let n_tokens = (n * (length - 1)) as f64;
        let results = self.workers.map(sequences, |index, tokens| {
            let model = model.clone().fork(&model.device());
            let counts = (0..tokens.len()).map(|position| position > 0).collect();
            let mut dropout = Dropout::new(ChaCha8Rng::seed_from_u64(index as u64));
            let (nll, _n) = model.nll(&[CountedSequence { tokens, counts }], Some(&mut dropout));
            let loss = nll.div_scalar(n_tokens);
            (loss.clone().into_scalar::<f64>(), GradientsParams::from_grads(loss.backward(), &model))
        });
        Ok(step(model, results, 1e-4))
    }

    /// Reads sequences of `length` tokens and scores the last `n_targets`.
    fn score(&mut self, n: usize, length: usize, n_targets: usize) -> Result<f64, String> {
        self.decoder()?;
        let (Some(decoder), workers) = (&self.loaded_decoder, &self.workers) else { return Ok(0.0) };
        let sequences = sequences(n, length + 1, decoder.vocabulary_size()).into_iter();
        let sequences: Vec<ScoredSequence> = sequences
            .map(|tokens| {
                let (prompt, target) = tokens.split_at(length + 1 - n_targets);
                ScoredSequence { prompt: prompt.to_vec(), target: target.to_vec() }
            })
            .collect();
        let nlls = if n == 1 {
            vec![decoder.target_nll(&sequences)]
        } else {
            workers.map(sequences, |_, sequence| decoder.target_nll(&[sequence]))
        };
        Ok(nlls.iter().flatten().flatten().map(|nll| f64::from(*nll)).sum())
    }

    /// Writes `n` tokens greedily after a prompt.
    fn decode(&mut self, prompt: usize, n: usize) -> Result<f64, String> {
        let decoder = self.decoder()?;
        let mut cache = decoder.new_cache();
        let tokens = sequences(1, prompt, decoder.vocabulary_size()).remove(0);
        let mut logits = decoder.feed(&mut cache, &tokens);
        let mut sum = 0.0;
        for _ in 0..n {
            let best = logits.iter().enumerate().max_by(|x, y| x.1.total_cmp(y.1)).map_or(0, |(index, _)| index);
            sum += best as f64;
            logits = decoder.feed(&mut cache, &[best as u32]);
        }
        Ok(sum)
    }
}

/// Makes one step along the sum of the gradients and returns the sum of the losses.
fn step<M: Module>(model: M, results: Vec<(f64, GradientsParams)>, rate: f64) -> f64 {
    let mut total = GradientsAccumulator::new();
    let mut sum = 0.0;
    for (loss, gradients) in results {
        sum += loss;
        total.accumulate(&model, gradients);
    }
    let mut optimizer = AdamWConfig::new().init();
    drop(optimizer.step(rate, model, total.grads()));
    sum
}

/// Returns the cross-entropy of the first candidate, after the query in the first row.
fn contrast(embeddings: Tensor<2>) -> Tensor<1> {
    let [rows, _dim] = embeddings.dims();
    let query = embeddings.clone().narrow(0, 0, 1);
    let similarities = query.matmul(embeddings.narrow(0, 1, rows - 1).transpose()).div_scalar(0.05);
    models::kernels::nll_of_rows(similarities, &[0])
}

fn cpu() -> Result<Device, String> {
    device::resolve(&DeviceSpec::Cpu).map_err(|error| error.to_string())
}

/// Returns arbitrary tokens.
fn sequences(n: usize, length: usize, vocabulary: usize) -> Vec<Vec<u32>> {
    let token = |row: usize, position: usize| ((row * 7919 + position * 104_729) % (vocabulary - 1000) + 999) as u32;
    (0..n).map(|row| (0..length).map(|position| token(row, position)).collect()).collect()
}

/// Finds the file or directory named in the environment.
pub(crate) fn path_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(|path| Path::new(&path).to_path_buf())
}
