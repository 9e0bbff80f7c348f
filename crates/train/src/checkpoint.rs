//! Checkpoints: weights, optimizer and position, whole or not at all.
//!
//! A checkpoint is a directory. Its manifest, with the hash of every other file, is written last, and the directory
//! gets its name by a rename; what lacks a manifest or does not match it is not a checkpoint. Random streams, sample
//! order and learning rate are functions of the step, so that the step is all the position there is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use burn::module::{Module, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::ModuleOptimizer;
use burn::store::ModuleRecord;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::run::{remove_directory as remove, sync_directory, write_atomically};
use crate::stage::{Fingerprint, hash_file};

const VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";
const MODEL: &str = "model.bpk";
const OPTIMIZER: &str = "optimizer.bpk";
const POSITION: &str = "position.json";

/// Where a run stands between two steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Steps done.
    pub step: usize,
    /// Validation value after each epoch, lower is better; the first is that of the untrained policy.
    pub validations: Vec<f64>,
    /// Hash of the best retriever's weights, which lie in [`Checkpoints::best`]; empty before the first validation.
    pub best_weights: String,
}

impl Position {
    /// Returns the index of the lowest validation value, the first of equals; 0 is the untrained policy.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        (0..self.validations.len()).min_by(|&a, &b| self.validations[a].total_cmp(&self.validations[b]))
    }

    /// Returns whether the best validation lies `patience` validations back, so that the run should stop; 0 never does.
    #[must_use]
    pub fn is_stale(&self, patience: usize) -> bool {
        let is_over = |best| self.validations.len() - 1 - best >= patience;
        patience > 0 && self.best().is_some_and(is_over)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    fingerprint: Fingerprint,
    files: BTreeMap<String, String>,
}

/// The checkpoints of one training run.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    directory: PathBuf,
    fingerprint: Fingerprint,
    kept_max: usize,
}

impl Checkpoints {
    /// Opens the directory of checkpoints; `fingerprint` names what the run depends on, so that a checkpoint of another
    /// run is never resumed.
    #[must_use]
    pub fn new(directory: PathBuf, fingerprint: Fingerprint, kept_max: usize) -> Self {
        Self { directory, fingerprint, kept_max }
    }

    /// Saves a checkpoint, then removes those of other runs and the oldest beyond the number kept.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written.
    pub fn save<M: Module>(&self, model: &M, optimizer: &ModuleOptimizer, position: &Position) -> anyhow::Result<()> {
        let name = format!("step-{:08}", position.step);
        let partial = self.directory.join(format!("{name}.partial"));
        let target = self.directory.join(&name);
        let save = || -> anyhow::Result<()> {
            remove(&partial)?;
            fs::create_dir_all(&partial)?;
            model.clone().into_record_group(trained(model)).save(partial.join(MODEL))?;
            optimizer.save(partial.join(OPTIMIZER))?;
            write_atomically(&partial.join(POSITION), &serde_json::to_vec_pretty(position)?)?;
            let hash = |name: &str| Ok((name.to_owned(), synced_hash(&partial.join(name))?));
            let files = [MODEL, OPTIMIZER, POSITION].into_iter().map(hash).collect::<anyhow::Result<_>>()?;
            let manifest = Manifest { version: VERSION, fingerprint: self.fingerprint.clone(), files };
            write_atomically(&partial.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
            remove(&target)?;
            fs::rename(&partial, &target)?;
            Ok(sync_directory(&self.directory)?)
        };
        save().with_context(|| format!("cannot save the checkpoint {}", target.display()))?;
        self.prune()
    }

    /// Loads the newest valid checkpoint of this run into `model` and `optimizer`, warning of every one passed over.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be read.
    pub fn resume<M: Module>(
        &self,
        model: &M,
        optimizer: &ModuleOptimizer,
    ) -> anyhow::Result<Option<(M, ModuleOptimizer, Position)>> {
        for path in self.newest_first()? {
            match self.load(&path, model.clone(), optimizer.clone()) {
                Ok(loaded) => return Ok(Some(loaded)),
                Err(error) => tracing::warn!("{} is not resumed: {error:#}", path.display()),
            }
        }
        Ok(None)
    }

    fn load<M: Module>(
        &self,
        path: &Path,
        model: M,
        optimizer: ModuleOptimizer,
    ) -> anyhow::Result<(M, ModuleOptimizer, Position)> {
        let manifest = manifest(path)?;
        ensure!(manifest.version == VERSION, "its format version is {}, not {VERSION}", manifest.version);
        ensure!(manifest.fingerprint == self.fingerprint, "it belongs to another configuration or dataset");
        for (name, hash) in &manifest.files {
            ensure!(hash_file(&path.join(name))? == *hash, "{name} is damaged");
        }
        let position = serde_json::from_slice(&fs::read(path.join(POSITION))?)?;
        // What is frozen is not stored: it is as the model was loaded.
        let n_trained = TrainedParameters::of(&model).ids.len();
        let record = ModuleRecord::load(path.join(MODEL))?.allow_partial(true);
        ensure!(record.len() == n_trained, "it holds {} of {n_trained} trained parameters", record.len());
        let model = model.load_record(record);
        Ok((model, optimizer.load(path.join(OPTIMIZER))?, position))
    }

    fn entries(&self) -> anyhow::Result<Vec<PathBuf>> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        fs::read_dir(&self.directory)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>())
            .with_context(|| format!("cannot read {}", self.directory.display()))
    }

    fn newest_first(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths: Vec<PathBuf> = self.entries()?.into_iter().filter(|path| numbered(path, "step-")).collect();
        paths.sort_unstable_by(|a, b| b.cmp(a));
        Ok(paths)
    }

    fn prune(&self) -> anyhow::Result<()> {
        let (own, others): (Vec<_>, Vec<_>) = self.newest_first()?.into_iter().partition(|path| self.owns(path));
        let entries = self.entries()?;
        let partial = entries.iter().filter(|path| path.extension().is_some_and(|end| end == "partial"));
        // The checkpoints kept refer to at most as many retrievers, and those are the newest.
        let mut best: Vec<&PathBuf> = entries.iter().filter(|path| numbered(path, "best-")).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let old = own.iter().skip(self.kept_max).chain(best.into_iter().skip(self.kept_max));
        for path in partial.chain(&others).chain(old) {
            remove(path).with_context(|| format!("cannot remove the old checkpoint {}", path.display()))?;
        }
        Ok(())
    }

    /// Returns where the retriever of an epoch is kept while it is the best.
    #[must_use]
    pub fn best(&self, epoch: usize) -> PathBuf {
        self.directory.join(format!("best-{epoch:08}"))
    }

    /// Removes every checkpoint, so that the run starts again.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be removed.
    pub fn discard(&self) -> anyhow::Result<()> {
        remove(&self.directory).with_context(|| format!("cannot remove {}", self.directory.display()))
    }

    fn owns(&self, path: &Path) -> bool {
        manifest(path).is_ok_and(|manifest| manifest.version == VERSION && manifest.fingerprint == self.fingerprint)
    }
}

/// Returns the parameters that training changes.
fn trained(model: &impl Module) -> ParamGroup {
    ParamGroup::from_ids(TrainedParameters::of(model).ids)
}

/// Collects the parameters that gradients are wanted of.
#[derive(Default)]
struct TrainedParameters {
    ids: Vec<ParamId>,
}

impl TrainedParameters {
    fn of(model: &impl Module) -> Self {
        let mut parameters = Self::default();
        model.visit(&mut parameters);
        parameters
    }
}

impl ModuleVisitor for TrainedParameters {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() {
            self.ids.push(param.id);
        }
    }
}

/// Returns whether a directory is named by a prefix and a number.
fn numbered(path: &Path, prefix: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(prefix).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn manifest(checkpoint: &Path) -> anyhow::Result<Manifest> {
    Ok(serde_json::from_slice(&fs::read(checkpoint.join(MANIFEST))?)?)
}

fn synced_hash(path: &Path) -> anyhow::Result<String> {
    fs::File::open(path)?.sync_all()?;
    hash_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::nn::{Linear, LinearConfig};
    use burn::optim::{AdamWConfig, GradientsParams};
    use burn::tensor::Device;

    fn layer() -> Linear {
        LinearConfig::new(3, 2).init(&Device::flex().autodiff())
    }

    fn step(layer: Linear, optimizer: &mut ModuleOptimizer) -> Linear {
        let input = Tensor::<2>::ones([2, 3], &Device::flex().autodiff());
        let gradients = GradientsParams::from_grads(layer.forward(input).powi_scalar(2).mean().backward(), &layer);
        optimizer.step(0.1, layer, gradients)
    }

    fn checkpoints(directory: &Path, run: &[u8]) -> Checkpoints {
        Checkpoints::new(directory.to_path_buf(), Fingerprint::of(&[("run", run)]), 2)
    }

    fn position(step: usize) -> Position {
        Position { step, validations: vec![0.5, 0.25], best_weights: String::new() }
    }

    #[test]
    fn a_resumed_run_goes_on_to_the_same_bits() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = checkpoints(directory.path(), b"a");
        let mut optimizer = AdamWConfig::new().init();
        let model = step(step(layer(), &mut optimizer), &mut optimizer);
        checkpoints.save(&model, &optimizer, &position(2)).unwrap();
        let straight = step(step(model, &mut optimizer), &mut optimizer);

        let (model, mut optimizer, at) = checkpoints.resume(&layer(), &AdamWConfig::new().init()).unwrap().unwrap();
        assert_eq!(at, position(2));
        let resumed = step(step(model, &mut optimizer), &mut optimizer);
        assert_eq!(resumed.weight.val().into_data(), straight.weight.val().into_data());
    }

    #[test]
    fn a_damaged_checkpoint_is_passed_over_for_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = checkpoints(directory.path(), b"a");
        let mut optimizer = AdamWConfig::new().init();
        let model = step(layer(), &mut optimizer);
        for step in 1..=3 {
            checkpoints.save(&model, &optimizer, &position(step)).unwrap();
        }
        assert_eq!(checkpoints.newest_first().unwrap().len(), 2);
        let newest = directory.path().join("step-00000003");
        for name in [MODEL, OPTIMIZER, POSITION, MANIFEST] {
            let path = newest.join(name);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            let (.., at) = checkpoints.resume(&layer(), &AdamWConfig::new().init()).unwrap().unwrap();
            assert_eq!(at.step, 2, "{name} cut short");
            fs::write(&path, whole).unwrap();
        }
        let (.., at) = checkpoints.resume(&layer(), &AdamWConfig::new().init()).unwrap().unwrap();
        assert_eq!(at.step, 3);
    }

    #[test]
    fn a_checkpoint_of_another_run_is_not_resumed() {
        let directory = tempfile::tempdir().unwrap();
        let mut optimizer = AdamWConfig::new().init();
        let model = step(layer(), &mut optimizer);
        checkpoints(directory.path(), b"a").save(&model, &optimizer, &position(1)).unwrap();
        let other = checkpoints(directory.path(), b"b");
        assert!(other.resume(&layer(), &AdamWConfig::new().init()).unwrap().is_none());
    }

    #[test]
    fn an_early_checkpoint_outlives_later_ones_of_another_run() {
        let directory = tempfile::tempdir().unwrap();
        let mut optimizer = AdamWConfig::new().init();
        let model = step(layer(), &mut optimizer);
        for step in [7, 8] {
            checkpoints(directory.path(), b"a").save(&model, &optimizer, &position(step)).unwrap();
        }
        let other = checkpoints(directory.path(), b"b");
        other.save(&model, &optimizer, &position(1)).unwrap();
        let (.., at) = other.resume(&layer(), &AdamWConfig::new().init()).unwrap().unwrap();
        assert_eq!((at.step, other.newest_first().unwrap().len()), (1, 1));
    }

    #[test]
    fn the_best_is_the_first_of_the_lowest() {
        let validations = vec![3.0, 1.0, f64::NAN, 1.0];
        let position = Position { validations, ..Position::default() };
        assert_eq!(position.best(), Some(1));
        assert!(position.is_stale(2) && !position.is_stale(3) && !position.is_stale(0));
        assert!(!Position::default().is_stale(1));
    }
}
