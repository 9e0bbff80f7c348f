//! Rotary positions: pairs of components turned by an angle per position.

use burn::backend::flex::{FlexTensor, Layout};

use super::lanes::{for_chunks, rows_per_task};
use super::operation::{Operation, shape, values};
use crate::rope::Pairing;

/// Turns the first components of heads `[batch, heads, length, head_dim]`.
///
/// The tables are `[1 or batch, 1, length, half]`: cosines and sines of each position, or of each position of each row.
#[derive(Debug, Clone)]
pub(super) struct Rotate {
    pub(super) pairing: Pairing,
    pub(super) cosines: FlexTensor,
    pub(super) sines: FlexTensor,
}

impl Operation<1> for Rotate {
    type Saved = ();

    fn forward(&self, [heads]: [FlexTensor; 1], _saving: bool) -> (FlexTensor, Option<()>) {
        (self.turn(heads, 1.0), Some(()))
    }

    fn backward(&self, (): (), gradient: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        [Some(self.turn(gradient, -1.0))]
    }
}

impl Rotate {
    /// Turns by the angles times `direction`.
    fn turn(&self, heads: FlexTensor, direction: f32) -> FlexTensor {
        let [batch, n_heads, length, dim] = shape(&heads)[..] else { unreachable!("heads have four dimensions") };
        let [cosines, sines] = [&self.cosines, &self.sines].map(values);
        let half = shape(&self.cosines)[3];
        let tables = shape(&self.cosines)[0];
        // Row by row, the heads of a position are neighbors in memory, as the projection wrote them.
        let mut output = heads.transpose(1, 2).to_contiguous();
        drop(heads);
        let width = n_heads * dim;
        let rows = rows_per_task(width);
        for_chunks(
            output.storage_mut(),
            width * rows,
            #[inline(always)]
            |index, chunk| {
                for (row, values) in chunk.chunks_exact_mut(width).enumerate() {
                    let row = index * rows + row;
                    let row = if tables == 1 { row % length } else { row };
                    let [cosines, sines] = [cosines, sines].map(|table| &table[row * half..(row + 1) * half]);
                    for head in values.chunks_exact_mut(dim) {
                        turn_head(self.pairing, &mut head[..2 * half], cosines, sines, direction);
                    }
                }
            },
        );
        let strides = [length * width, dim, width, 1].map(|stride| stride as isize);
        output.with_layout(Layout::new(vec![batch, n_heads, length, dim].into(), strides.to_vec(), 0))
    }
}

#[inline(always)]
fn turn_head(pairing: Pairing, head: &mut [f32], cosines: &[f32], sines: &[f32], direction: f32) {
    match pairing {
        Pairing::Halves => {
            let (first, second) = head.split_at_mut(cosines.len());
            for (((x, y), cosine), sine) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
                (*x, *y) = turned(*x, *y, *cosine, *sine * direction);
            }
        }
        Pairing::Neighbors => {
            for ((pair, cosine), sine) in head.as_chunks_mut::<2>().0.iter_mut().zip(cosines).zip(sines) {
                let (x, y) = turned(pair[0], pair[1], *cosine, *sine * direction);
                *pair = [x, y];
            }
        }
    }
}

#[inline(always)]
fn turned(x: f32, y: f32, cosine: f32, sine: f32) -> (f32, f32) {
    (x * cosine - y * sine, y * cosine + x * sine)
}
