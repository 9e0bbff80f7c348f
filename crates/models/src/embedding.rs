//! Tables of one vector per token or position.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};

use crate::adapter::TrainableRows;
use crate::kernels;
use crate::linear::product;
use crate::weights::{change, unloaded};

/// A table of one vector per token (or position).
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[vocabulary, width]`.
    pub weight: Param<Tensor<2>>,
    /// Rows that are trained in place of the table's.
    pub rows: Option<TrainableRows>,
}

impl Embedding {
    /// Creates a table whose vectors are yet to be loaded.
    #[must_use]
    pub fn new(n: usize, width: usize, device: &Device) -> Self {
        Self { weight: unloaded([n, width], device), rows: None }
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn n(&self) -> usize {
        self.weight.lazy_shape()[0]
    }

    /// Returns the device of the table, with its gradient setting.
    #[must_use]
    pub fn device(&self) -> Device {
        self.weight.lazy_device()
    }

    /// Puts trained rows into the table.
    pub(crate) fn merge(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.map_weight(&mut |weight| rows.write_into(weight));
        }
    }

    /// Replaces the table.
    pub(crate) fn map_weight(&mut self, map: &mut impl FnMut(Tensor<2>) -> Tensor<2>) {
        change(&mut self.weight, map);
    }

    /// Returns the vector of every token.
    ///
    /// # Shapes
    ///
    /// - `tokens`: `[n]`
    /// - returns: `[n, width]`
    #[must_use]
    pub fn forward(&self, tokens: &[u32]) -> Tensor<2> {
        let vectors = kernels::rows_of(self.weight.val(), tokens).cast(DType::F32);
        match &self.rows {
            Some(rows) => rows.replace(vectors, tokens),
            None => vectors,
        }
    }

    /// Returns the product of every input with every vector of the table: logits, where the table is the head too.
    ///
    /// # Shapes
    ///
    /// - `input`: `[n, width]`
    /// - returns: `[n, vocabulary]`
    #[must_use]
    pub fn products(&self, input: Tensor<2>) -> Tensor<2> {
        let products = product(input.clone(), self.weight.val());
        match &self.rows {
            Some(rows) => rows.replace_products(products, input),
            None => products,
        }
    }
}
