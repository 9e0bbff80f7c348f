//! Rows of a table of tokens that are trained while the rest of the table stays as it is.

use burn::module::{Module, Param};
use burn::tensor::{DType, Int, Tensor, TensorData};

/// The rows of some tokens, used in place of those of the table they belong to.
#[derive(Module, Debug)]
pub struct TrainableRows {
    /// `[n_tokens, width]`.
    pub values: Param<Tensor<2>>,
    #[module(skip)]
    tokens: Vec<u32>,
}

impl TrainableRows {
    /// Starts from the rows that `table` has for `tokens`.
    ///
    /// # Shapes
    ///
    /// - `table`: `[vocabulary, width]`
    ///
    /// # Panics
    ///
    /// Panics if a token has no row, or occurs twice.
    #[must_use]
    pub fn new(table: Tensor<2>, tokens: &[u32]) -> Self {
        let [vocabulary, _width] = table.dims();
        assert!(tokens.iter().all(|&token| (token as usize) < vocabulary), "every token has a row");
        let indices: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
        let indices = Tensor::<1, Int>::from_data(indices.as_slice(), &table.device());
        Self::from_values(table.detach().select(0, indices).cast(DType::F32), tokens)
    }

    /// Wraps rows.
    ///
    /// # Panics
    ///
    /// Panics if there is not one token for each row, or a token occurs twice.
    pub(super) fn from_values(values: Tensor<2>, tokens: &[u32]) -> Self {
        assert_eq!(values.dims()[0], tokens.len(), "every row has a token");
        let is_repeated = |(index, token): (usize, &u32)| tokens[..index].contains(token);
        assert!(!tokens.iter().enumerate().any(is_repeated), "a token has one row");
        Self { values: Param::from_tensor(values.detach()), tokens: tokens.to_vec() }
    }

    /// Returns the tokens whose rows these are, in the order of the rows.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns `table` with these rows in their places.
    ///
    /// # Shapes
    ///
    /// - `table`, returns: `[vocabulary, width]`
    #[must_use]
    pub fn write_into(&self, table: Tensor<2>) -> Tensor<2> {
        let [_vocabulary, width] = table.dims();
        let values = self.values.val().cast(table.dtype());
        let assign = |table: Tensor<2>, (index, &token): (usize, &u32)| {
            let row = token as usize;
            table.slice_assign([row..row + 1, 0..width], values.clone().narrow(0, index, 1))
        };
        self.tokens.iter().enumerate().fold(table, assign)
    }

    /// Puts these rows in place of what a table gave for their tokens.
    ///
    /// # Shapes
    ///
    /// - `looked_up`: `[n, width]`, a row of the table for each of `tokens`
    /// - returns: `[n, width]`
    #[must_use]
    pub fn replace(&self, looked_up: Tensor<2>, tokens: &[u32]) -> Tensor<2> {
        if !tokens.iter().any(|token| self.tokens.contains(token)) {
            return looked_up;
        }
        let device = looked_up.device();
        let [n, n_rows] = [tokens.len(), self.tokens.len()];
        let is = |token: &u32, row: &u32| if token == row { 1.0_f32 } else { 0.0 };
        let hits: Vec<f32> =
            tokens.iter().flat_map(|token| self.tokens.iter().map(move |row| is(token, row))).collect();
        let hits = Tensor::<2>::from_data(TensorData::new(hits, [n, n_rows]), &device);
        let kept = hits.clone().sum_dim(1).neg().add_scalar(1.0);
        looked_up * kept + hits.matmul(self.values.val())
    }

    /// Puts the products with these rows in place of those with the table's.
    ///
    /// # Shapes
    ///
    /// - `products`: `[n, vocabulary]`, of `input` with every row of the table
    /// - `input`: `[n, width]`
    /// - returns: `[n, vocabulary]`
    #[must_use]
    pub fn replace_products(&self, products: Tensor<2>, input: Tensor<2>) -> Tensor<2> {
        let [n, _width] = input.dims();
        let own = input.matmul(self.values.val().transpose());
        let assign = |products: Tensor<2>, (index, &token): (usize, &u32)| {
            let column = token as usize;
            products.slice_assign([0..n, column..column + 1], own.clone().narrow(1, index, 1))
        };
        self.tokens.iter().enumerate().fold(products, assign)
    }
}
