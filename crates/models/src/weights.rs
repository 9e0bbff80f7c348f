//! Weights between a checkpoint and a module, by name.
//!
//! A [`TensorSource`] gives named `f32` tensors one at a time ([`Checkpoint`] from safetensors, GGUF elsewhere);
//! [`load`] puts them into a module whose field names spell the checkpoint's names and whose tensors have the
//! checkpoint's layout, and [`save`] writes them back.

mod checkpoint;
pub(crate) mod map;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::nn::Initializer;
use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::linear::Precision;
use crate::{Error, Result};

pub use checkpoint::Checkpoint;
pub use write::{write, write_as};

/// Named tensors of a checkpoint, read one at a time.
pub trait TensorSource {
    /// Returns the file or directory that the tensors come from.
    fn path(&self) -> &Path;

    /// Returns the shape of every tensor, as the checkpoint stores it.
    fn shapes(&self) -> &BTreeMap<String, Vec<usize>>;

    /// Reads one tensor in row-major order.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tensor, if it is damaged, or if its type does not convert to `f32`.
    fn read(&self, name: &str) -> Result<Vec<f32>>;

    /// Returns the type in which matrices and tables are to be kept in memory; vectors are always `f32`.
    fn storage(&self) -> Precision {
        Precision::F32
    }

    /// Tells whether a module gets the values, or is only compared with the names and shapes.
    fn gives_values(&self) -> bool {
        true
    }
}

/// The names and shapes of another source: a module is compared with them and keeps no values.
#[derive(Debug)]
pub(crate) struct Outline<'a, S>(pub(crate) &'a S);

impl<S: TensorSource> TensorSource for Outline<'_, S> {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        self.0.shapes()
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        self.0.read(name)
    }

    fn gives_values(&self) -> bool {
        false
    }
}

/// The tensors of another source, their matrices to be kept in a given type; those in another than `f32` are not
/// trained.
#[derive(Debug)]
pub struct Stored<'a, S>(pub &'a S, pub Precision);

impl<S: TensorSource> TensorSource for Stored<'_, S> {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        self.0.shapes()
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        self.0.read(name)
    }

    fn storage(&self) -> Precision {
        self.1
    }
}

/// One tensor in memory: its shape and its values in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// The dimensions.
    pub shape: Vec<usize>,
    /// The values, in row-major order.
    pub values: Vec<f32>,
}

/// Tensors held in memory.
#[derive(Debug, Clone)]
pub struct MemoryTensors {
    path: PathBuf,
    shapes: BTreeMap<String, Vec<usize>>,
    tensors: BTreeMap<String, HostTensor>,
}

impl MemoryTensors {
    /// Wraps `tensors`; `path` is what errors name as their origin.
    #[must_use]
    pub fn new(path: &Path, tensors: BTreeMap<String, HostTensor>) -> Self {
        let shapes = tensors.iter().map(|(name, tensor)| (name.clone(), tensor.shape.clone()));
        Self { path: path.to_owned(), shapes: shapes.collect(), tensors }
    }
}

impl TensorSource for MemoryTensors {
    fn path(&self) -> &Path {
        &self.path
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let tensor = self
            .tensors
            .get(name)
            .ok_or_else(|| Error::Weights { path: self.path.clone(), message: format!("missing {name}") })?;
        Ok(tensor.values.clone())
    }
}

/// How the fields of a module are called in a checkpoint.
#[derive(Debug, Clone)]
pub struct Names {
    /// What the checkpoint puts before every name, such as `model.`.
    pub prefix: String,
    /// Turns a path of field names into a checkpoint name without the prefix.
    pub rename: fn(&str) -> String,
    /// Tells whether a tensor of the checkpoint (full name) is left aside on purpose.
    pub is_unused: fn(&str) -> bool,
}

impl Names {
    fn name(&self, path: &str) -> String {
        format!("{}{}", self.prefix, (self.rename)(path))
    }
}

/// Fills `module` with the tensors of `source`, if it gives values; parameters stay on their device and keep their gradient setting.
///
/// # Errors
///
/// Returns one error that lists every missing, unexpected and mis-shaped tensor, or the first that cannot be read.
pub fn load<M: Module>(module: M, source: &impl TensorSource, names: &Names) -> Result<M> {
    check(&parameters(&module, names), source, names)?;
    if !source.gives_values() {
        return Ok(module);
    }
    let mut loader = Loader { source, names, location: Location::default(), failure: None };
    let module = module.map(&mut loader);
    loader.failure.map_or(Ok(module), Err)
}

/// Returns the values of `module` under the checkpoint's names and in its layout.
#[must_use]
pub fn tensors<M: Module>(module: &M, names: &Names) -> BTreeMap<String, HostTensor> {
    tensors_where(module, names, |_| true)
}

/// Returns the values of the wanted tensors of `module`, as [`tensors`] does.
#[must_use]
pub fn tensors_where<M: Module>(
    module: &M,
    names: &Names,
    is_wanted: impl Fn(&str) -> bool,
) -> BTreeMap<String, HostTensor> {
    let mut collector = Collector { names, is_wanted, location: Location::default(), tensors: BTreeMap::new() };
    module.visit(&mut collector);
    collector.tensors
}

/// Writes `module` as safetensors under the checkpoint's names, replacing `path` only once all is written.
///
/// # Errors
///
/// Returns an error if `path` cannot be written.
pub fn save<M: Module>(module: &M, path: &Path, names: &Names) -> Result<()> {
    write(path, &tensors(module, names))
}

/// Returns the shape that the checkpoint must have for every parameter, by name.
pub(crate) fn parameters<M: Module>(module: &M, names: &Names) -> BTreeMap<String, Vec<usize>> {
    let mut shapes = Shapes { names, location: Location::default(), found: BTreeMap::new() };
    module.visit(&mut shapes);
    shapes.found
}

/// Compares the tensors of `source` with the names and shapes that a model has.
///
/// # Errors
///
/// Returns one error that lists every missing, unexpected and mis-shaped tensor.
pub(crate) fn check(expected: &BTreeMap<String, Vec<usize>>, source: &impl TensorSource, names: &Names) -> Result<()> {
    let found = source.shapes();
    let missing: BTreeSet<&String> = expected.keys().filter(|name| !found.contains_key(*name)).collect();
    let is_unexpected = |name: &&String| !expected.contains_key(*name) && !(names.is_unused)(name);
    let unexpected: BTreeSet<&String> = found.keys().filter(is_unexpected).collect();
    let shapes = expected.iter().filter_map(|(name, shape)| {
        let stored = found.get(name).filter(|stored| *stored != shape)?;
        Some(format!("{name} is {stored:?} where the model has {shape:?}"))
    });
    let missing = missing.into_iter().map(|name| format!("missing {name}"));
    let unexpected = unexpected.into_iter().map(|name| format!("unexpected {name}"));
    let problems: Vec<String> = missing.chain(unexpected).chain(shapes).collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::Weights { path: source.path().to_owned(), message: problems.join("; ") })
}

/// Where a traversal stands: the field names from the root.
#[derive(Default)]
struct Location {
    fields: Vec<String>,
}

impl Location {
    fn enter(&mut self, name: &str) {
        self.fields.push(name.to_owned());
    }

    fn exit(&mut self) {
        self.fields.pop();
    }

    fn name(&self, names: &Names) -> String {
        names.name(&self.fields.join("."))
    }
}

struct Shapes<'a> {
    names: &'a Names,
    location: Location,
    found: BTreeMap<String, Vec<usize>>,
}

impl ModuleVisitor for Shapes<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.location.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.location.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.insert(self.location.name(self.names), param.lazy_shape().to_vec());
    }
}

struct Collector<'a, F> {
    names: &'a Names,
    is_wanted: F,
    location: Location,
    tensors: BTreeMap<String, HostTensor>,
}

impl<F: Fn(&str) -> bool> ModuleVisitor for Collector<'_, F> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.location.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.location.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.location.name(self.names);
        if !(self.is_wanted)(&name) {
            return;
        }
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
        self.tensors.insert(name, HostTensor { shape, values });
    }
}

struct Loader<'a, S> {
    source: &'a S,
    names: &'a Names,
    location: Location,
    failure: Option<Error>,
}

impl<S: TensorSource> Loader<'_, S> {
    fn read<const D: usize>(&self, param: Param<Tensor<D>>) -> Result<Param<Tensor<D>>> {
        let values = self.source.read(&self.location.name(self.names))?;
        let dtype = if D == 2 { self.source.storage().dtype() } else { DType::F32 };
        let data = TensorData::new(values, param.lazy_shape().to_vec());
        let tensor = Tensor::from_data(data, (&param.lazy_device(), dtype));
        let id = param.id;
        let param = param.transform_for_load(tensor, id);
        Ok(if dtype == DType::F32 { param } else { param.set_require_grad(false) })
    }
}

impl<S: TensorSource> ModuleMapper for Loader<'_, S> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.location.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.location.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.failure.is_some() {
            return param;
        }
        self.read(param.clone()).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            param
        })
    }
}

/// Replaces the value of a parameter, which keeps its identity and its gradient setting.
pub(crate) fn change<const D: usize>(param: &mut Param<Tensor<D>>, change: impl FnOnce(Tensor<D>) -> Tensor<D>) {
    *param = param.clone().map(|value| {
        let is_trained = value.is_require_grad();
        change(value.detach()).detach().set_require_grad(is_trained)
    });
}

/// Returns a parameter whose values are yet to be loaded.
pub(crate) fn unloaded<const D: usize>(shape: [usize; D], device: &Device) -> Param<Tensor<D>> {
    Initializer::Zeros.init(shape, device)
}

#[cfg(test)]
mod tests;
