//! New tokens: in the tokenizer, in the embedding and in the head.

use burn::tensor::{DType, Tensor, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::attach::head;
use crate::decoder::Decoder;
use crate::{Error, Result};

/// What the row of a new token starts from.
#[derive(Debug, Clone, Default)]
pub enum RowInit {
    /// The mean of the rows that other tokens have.
    #[default]
    Mean,
    /// The row of a token that there is.
    Token(u32),
    /// Normally distributed around 0 with the standard deviation of the rows that other tokens have.
    Random(Box<ChaCha8Rng>),
}

impl RowInit {
    /// Returns `n` rows for new tokens.
    ///
    /// # Shapes
    ///
    /// - `rows`: `[n_tokens, width]`, those that other tokens have
    /// - returns: `[n, width]`
    fn rows(&mut self, rows: Tensor<2>, n: usize) -> Tensor<2> {
        let [_n_tokens, width] = rows.dims();
        match self {
            Self::Mean => rows.mean_dim(0).repeat_dim(0, n),
            Self::Token(token) => rows.narrow(0, *token as usize, 1).repeat_dim(0, n),
            Self::Random(stream) => {
                let deviation = rows.clone().var(0).mean().into_scalar::<f32>().sqrt();
                let drawn: Vec<f32> = (0..n * width).map(|_| deviation * normal(stream)).collect();
                Tensor::from_data(TensorData::new(drawn, [n, width]), &rows.device())
            }
        }
    }
}

impl Decoder {
    /// Adds tokens to the tokenizer and gives each a row in the embedding and in the head; returns their numbers.
    ///
    /// A text that spells a new token gives that token, with the spaces around it left as they are. A token that the
    /// tokenizer gives already keeps its number and its row. Tables grow only where they have no unused row.
    ///
    /// # Errors
    ///
    /// Returns an error if a token is empty, if the token to start from has no row, or if an adapter is attached: tokens
    /// come first.
    pub fn add_tokens(&mut self, tokens: &[&str], mut init: RowInit) -> Result<Vec<u32>> {
        if self.model().is_adapted() {
            return Err(Error::adapter("tokens", "are added before an adapter is attached"));
        }
        let n_known = self.tokenizer().highest().map_or(0, |highest| highest as usize + 1);
        if let RowInit::Token(token) = init
            && token as usize >= n_known
        {
            return Err(Error::adapter("init", format!("{token} is not a token of the tokenizer")));
        }
        let mut tokenizer = self.tokenizer().clone();
        let numbers = tokens.iter().map(|token| tokenizer.add(token)).collect::<Result<Vec<u32>>>()?;
        let mut new: Vec<u32> = numbers.iter().copied().filter(|&token| token as usize >= n_known).collect();
        new.sort_unstable();
        new.dedup();
        self.give_rows(n_known, &new, &mut init);
        self.added.extend(&new);
        self.replace_tokenizer(tokenizer);
        Ok(numbers)
    }

    fn give_rows(&mut self, n_known: usize, new: &[u32], init: &mut RowInit) {
        let Some(&last) = new.last() else {
            return;
        };
        let size = self.model().network().shape().vocab_size.max(last as usize + 1);
        let mut model = self.model().clone();
        let network = model.network_mut();
        let mut write = |table: Tensor<2>| write_rows(table, size, n_known, new, init);
        network.token_embedding().1.map_weight(&mut write);
        if let Some(head) = head(network.linears()) {
            head.map_outputs(&mut write);
        }
        drop(self.replace_model(model));
    }
}

/// Returns `table` with `size` rows, those of `new` tokens started from the first `n_known`.
fn write_rows(table: Tensor<2>, size: usize, n_known: usize, new: &[u32], init: &mut RowInit) -> Tensor<2> {
    let [n, width] = table.dims();
    let dtype = table.dtype();
    let rows = init.rows(table.clone().narrow(0, 0, n_known.min(n)).cast(DType::F32), new.len()).cast(dtype);
    let table = match size - n {
        0 => table,
        missing => {
            let options = (&table.device(), dtype);
            Tensor::cat(vec![table, Tensor::zeros([missing, width], options)], 0)
        }
    };
    let write = |table: Tensor<2>, (index, &token): (usize, &u32)| {
        let row = token as usize;
        table.slice_assign([row..row + 1, 0..width], rows.clone().narrow(0, index, 1))
    };
    new.iter().enumerate().fold(table, write)
}

/// Draws from the normal distribution by the method of Box and Muller.
fn normal(stream: &mut ChaCha8Rng) -> f32 {
    let (radius, angle): (f64, f64) = (stream.random(), stream.random());
    ((-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()) as f32
}
