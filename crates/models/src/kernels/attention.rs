//! Softmax attention, one block of queries at a time, so that all scores never exist at once.
//!
//! # References
//!
//! Dao et al., "`FlashAttention`: Fast and Memory-Efficient Exact Attention with IO-Awareness", 2022: the backward pass
//! computes the scores again from the logarithm of each row's total weight. Ainslie et al., 2023 (grouped queries).

use std::ops::Range;
use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::backend::ops::FloatTensorOps;

use super::lanes::{add, dot, exp, exp_and_sum, map_indices, max, vectorized};
use super::mask::{DropoutMask, MaskRow};
use super::operation::{Operation, flex, shape, values};

/// Scores held at once: half of a processor core's second-level cache.
const BLOCK_SCORES: usize = 1 << 16;

/// Queries of a block when the keys they see differ, at most.
const CAUSAL_BLOCK: usize = 128;

/// Attention from queries `[batch, heads, length, head_dim]` to keys and values `[batch, groups, total, head_dim]`.
#[derive(Debug, Clone)]
pub(super) struct Attend {
    pub(super) scale: f32,
    /// Queries are the last positions and see no later ones.
    pub(super) causal: bool,
    /// Keys that a query sees, itself included.
    pub(super) window: Option<usize>,
    /// Added to the scores, each dimension but the last equal to that of the scores or 1.
    pub(super) bias: Option<FlexTensor>,
    pub(super) dropout: Option<DropoutMask>,
}

/// What the backward pass needs.
#[derive(Debug, Clone)]
pub(super) struct Attended {
    inputs: [FlexTensor; 3],
    output: FlexTensor,
    /// The logarithm of each query's total weight, `[batch, heads, length]`.
    totals: Arc<Vec<f32>>,
}

impl Operation<3> for Attend {
    type Saved = Attended;

    fn forward(&self, inputs: [FlexTensor; 3], saving: bool) -> (FlexTensor, Option<Attended>) {
        let inputs = inputs.map(with_contiguous_rows);
        let sizes = Sizes::new(&inputs);
        if sizes.length == 1 && sizes.heads > sizes.groups && !saving && self.heads_are_alike() {
            return (self.forward_one(inputs, sizes), None);
        }
        let results = map_indices(sizes.batch * sizes.heads, |index| self.forward_head(&inputs, sizes, index));
        let (outputs, totals): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let output = sizes.gather(&outputs, sizes.heads, sizes.length);
        let saved = saving.then(|| Attended { inputs, output: output.clone(), totals: Arc::new(totals.concat()) });
        (output, saved)
    }

    fn backward(&self, saved: Attended, gradient: FlexTensor, _wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = with_contiguous_rows(gradient);
        let sizes = Sizes::new(&saved.inputs);
        let results =
            map_indices(sizes.batch * sizes.groups, |index| self.backward_group(&saved, &gradient, sizes, index));
        let mut queries = Vec::with_capacity(sizes.batch * sizes.heads);
        let (mut keys, mut values) = (Vec::with_capacity(results.len()), Vec::with_capacity(results.len()));
        for (query, key, value) in results {
            queries.extend(query);
            keys.push(key);
            values.push(value);
        }
        [
            Some(sizes.gather(&queries, sizes.heads, sizes.length)),
            Some(sizes.gather(&keys, sizes.groups, sizes.total)),
            Some(sizes.gather(&values, sizes.groups, sizes.total)),
        ]
    }
}

impl Attend {
    /// Attends from one position: the heads of a group are the rows of one product, which reads keys and values once.
    fn forward_one(&self, [queries, keys, values]: [FlexTensor; 3], sizes: Sizes) -> FlexTensor {
        let Sizes { batch, heads, groups, total, dim, .. } = sizes;
        let [batch_stride, head_stride, ..] = strides(&queries);
        let layout = Layout::new(
            vec![batch, groups, heads / groups, dim].into(),
            vec![batch_stride, head_stride * (heads / groups) as isize, head_stride, 1],
            queries.layout().start_offset(),
        );
        let inputs = [queries.with_layout(layout), keys, values];
        let grouped = Sizes { heads: groups, length: heads / groups, ..sizes };
        let rule = Self { causal: false, window: None, ..self.clone() };
        let seen = self.window.map_or(0, |window| total.saturating_sub(window))..total;
        let results =
            map_indices(batch * groups, |index| rule.forward_block(&inputs, grouped, index, 0..heads / groups, &seen));
        let output = results.into_iter().flat_map(|(output, _)| output).collect();
        flex(output, &[batch, heads, 1, dim])
    }

    /// Returns whether every head has the same bias.
    fn heads_are_alike(&self) -> bool {
        self.dropout.is_none() && self.bias.as_ref().is_none_or(|bias| shape(bias)[1] == 1)
    }

    /// Returns the attended values of one head, and the logarithm of each query's total weight.
    fn forward_head(&self, inputs: &[FlexTensor; 3], sizes: Sizes, index: usize) -> (Vec<f32>, Vec<f32>) {
        let mut results = self.blocks(sizes).map(|(rows, seen)| self.forward_block(inputs, sizes, index, rows, &seen));
        let (mut output, mut totals) = results.next().unwrap_or_default();
        for (block_output, block_totals) in results {
            output.extend(block_output);
            totals.extend(block_totals);
        }
        (output, totals)
    }

    fn forward_block(
        &self,
        [queries, keys, values]: &[FlexTensor; 3],
        sizes: Sizes,
        index: usize,
        rows: Range<usize>,
        seen: &Range<usize>,
    ) -> (Vec<f32>, Vec<f32>) {
        let (batch, head) = (index / sizes.heads, index % sizes.heads);
        let group = head / (sizes.heads / sizes.groups);
        let mut scores = Flex::float_matmul(
            matrix(queries, batch, head, rows.clone()),
            transposed(&matrix(keys, batch, group, seen.clone())),
        );
        let width = seen.len();
        let row_of = |row| Row { rule: self, sizes, batch, head, query: row, seen };
        let totals: Vec<(f32, f32)> = vectorized(
            #[inline(always)]
            || {
                let scores: &mut [f32] = scores.storage_mut();
                let mut totals = vec![(0.0, 0.0); rows.len()];
                for ((row, scores), total) in rows.clone().zip(scores.chunks_exact_mut(width)).zip(&mut totals) {
                    *total = row_of(row).weigh(scores);
                }
                totals
            },
        );
        let mut output = Flex::float_matmul(scores, matrix(values, batch, group, seen.clone()));
        vectorized(
            #[inline(always)]
            || {
                let output: &mut [f32] = output.storage_mut();
                for (row, (_, total)) in output.chunks_exact_mut(sizes.dim).zip(&totals) {
                    let scale = if *total > 0.0 { total.recip() } else { 0.0 };
                    for x in row.iter_mut() {
                        *x *= scale;
                    }
                }
            },
        );
        let totals = totals.into_iter().map(|(max, total)| max + total.ln()).collect();
        (self::values(&output).to_vec(), totals)
    }

    /// Returns the gradients of the queries of each head of a group, of its keys and of its values.
    fn backward_group(
        &self,
        saved: &Attended,
        gradient: &FlexTensor,
        sizes: Sizes,
        index: usize,
    ) -> (Vec<Vec<f32>>, Vec<f32>, Vec<f32>) {
        let (batch, group) = (index / sizes.groups, index % sizes.groups);
        let per_group = sizes.heads / sizes.groups;
        let mut keys = vec![0.0; sizes.total * sizes.dim];
        let mut values = keys.clone();
        let heads = group * per_group..(group + 1) * per_group;
        let queries = heads.map(|head| {
            let mut queries = Vec::with_capacity(sizes.length * sizes.dim);
            for (rows, seen) in self.blocks(sizes) {
                let [query, key, value] =
                    self.backward_block(saved, gradient, sizes, [batch, head, group], rows, &seen);
                queries.extend_from_slice(self::values(&query));
                let range = seen.start * sizes.dim..seen.end * sizes.dim;
                vectorized(
                    #[inline(always)]
                    || {
                        add(&mut keys[range.clone()], self::values(&key));
                        add(&mut values[range], self::values(&value));
                    },
                );
            }
            queries
        });
        (queries.collect(), keys, values)
    }

    fn backward_block(
        &self,
        saved: &Attended,
        gradient: &FlexTensor,
        sizes: Sizes,
        [batch, head, group]: [usize; 3],
        rows: Range<usize>,
        seen: &Range<usize>,
    ) -> [FlexTensor; 3] {
        let [queries, keys, values] = &saved.inputs;
        let queries = matrix(queries, batch, head, rows.clone());
        let keys = matrix(keys, batch, group, seen.clone());
        let values = matrix(values, batch, group, seen.clone());
        let gradient = matrix(gradient, batch, head, rows.clone());
        let output = matrix(&saved.output, batch, head, rows.clone());
        let mut scores = Flex::float_matmul(queries.clone(), transposed(&keys));
        let mut slopes = Flex::float_matmul(gradient.clone(), transposed(&values));
        let totals = &saved.totals[(batch * sizes.heads + head) * sizes.length..];
        let row_of = |row| Row { rule: self, sizes, batch, head, query: row, seen };
        vectorized(
            #[inline(always)]
            || {
                let scores: &mut [f32] = scores.storage_mut();
                let slopes: &mut [f32] = slopes.storage_mut();
                let pairs = scores.chunks_exact_mut(seen.len()).zip(slopes.chunks_exact_mut(seen.len()));
                for (index, (row, (scores, slopes))) in rows.clone().zip(pairs).enumerate() {
                    let along = dot(row_values(&output, index), row_values(&gradient, index));
                    row_of(row).backward(scores, slopes, totals[row], along);
                }
            },
        );
        [
            Flex::float_matmul(slopes.clone(), keys),
            Flex::float_matmul(transposed(&slopes), queries),
            Flex::float_matmul(transposed(&scores), gradient),
        ]
    }

    /// Iterates over blocks of queries, each with the keys that any of them sees.
    fn blocks(&self, sizes: Sizes) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let Sizes { length, total, .. } = sizes;
        let (causal, window) = (self.causal, self.window);
        let size = if causal { CAUSAL_BLOCK } else { (BLOCK_SCORES / total.max(1)).clamp(16, 256) };
        (0..length).step_by(size).map(move |start| {
            let end = length.min(start + size);
            let before = total - length.min(total);
            let last = if causal { before + end } else { total };
            let first = window.map_or(0, |window| (before + start + 1).saturating_sub(window));
            (start..end, first.min(last)..last)
        })
    }
}

/// One row of scores.
struct Row<'a> {
    rule: &'a Attend,
    sizes: Sizes,
    batch: usize,
    head: usize,
    query: usize,
    seen: &'a Range<usize>,
}

impl Row<'_> {
    /// Returns the part of the row that the query sees.
    #[inline(always)]
    fn visible(&self) -> Range<usize> {
        let Self { rule, sizes, query, seen, .. } = self;
        let position = sizes.total.saturating_sub(sizes.length) + query + 1;
        let end = if rule.causal { position.min(seen.end) } else { seen.end };
        let start = rule.window.map_or(seen.start, |window| position.saturating_sub(window).max(seen.start));
        start.min(end) - seen.start..end - seen.start
    }

    /// Returns what is added to the visible part of the row.
    #[inline(always)]
    fn bias(&self, visible: &Range<usize>) -> Option<&[f32]> {
        let bias = self.rule.bias.as_ref()?;
        let [batches, heads, rows, width] = shape(bias)[..] else { return None };
        let batch = if batches == 1 { 0 } else { self.batch };
        let head = if heads == 1 { 0 } else { self.head };
        let row = if rows == 1 { 0 } else { self.query };
        let start = ((batch * heads + head) * rows + row) * width + self.seen.start;
        Some(&values(bias)[start + visible.start..start + visible.end])
    }

    #[inline(always)]
    fn mask(&self) -> Option<MaskRow> {
        let row = (self.batch * self.sizes.heads + self.head) * self.sizes.length + self.query;
        self.rule.dropout.map(|mask| mask.row(row))
    }

    /// Scales the visible scores, adds the bias, and clears the others.
    #[inline(always)]
    fn biased<'s>(&self, scores: &'s mut [f32]) -> &'s mut [f32] {
        let visible = self.visible();
        scores[..visible.start].fill(0.0);
        scores[visible.end..].fill(0.0);
        let bias = self.bias(&visible);
        let scores = &mut scores[visible];
        match bias {
            Some(bias) => {
                for (x, b) in scores.iter_mut().zip(bias) {
                    *x = x.mul_add(self.rule.scale, *b);
                }
            }
            None => {
                for x in scores.iter_mut() {
                    *x *= self.rule.scale;
                }
            }
        }
        scores
    }

    /// Turns scores into weights relative to the largest, which it returns with the total; dropped weights count.
    #[inline(always)]
    fn weigh(&self, scores: &mut [f32]) -> (f32, f32) {
        let first = self.visible().start;
        let scores = self.biased(scores);
        let max = max(scores).max(f32::MIN);
        let total = exp_and_sum(scores, max);
        if let Some(mask) = self.mask() {
            for (column, weight) in scores.iter_mut().enumerate() {
                *weight *= mask.factor(first + column);
            }
        }
        (max, total)
    }

    /// Turns scores into weights and `slopes`, the gradient of the weights, into that of the scores.
    #[inline(always)]
    fn backward(&self, scores: &mut [f32], slopes: &mut [f32], total: f32, along: f32) {
        let visible = self.visible();
        slopes[..visible.start].fill(0.0);
        slopes[visible.end..].fill(0.0);
        let scores = self.biased(scores);
        let pairs = scores.iter_mut().zip(&mut slopes[visible.clone()]);
        let scale = self.rule.scale;
        match self.mask() {
            None => {
                for (score, slope) in pairs {
                    *score = exp(*score - total);
                    *slope = *score * (*slope - along) * scale;
                }
            }
            Some(mask) => {
                for (column, (score, slope)) in pairs.enumerate() {
                    let weight = exp(*score - total);
                    let factor = mask.factor(visible.start + column);
                    *slope = weight * slope.mul_add(factor, -along) * scale;
                    *score = weight * factor;
                }
            }
        }
    }
}

/// The sizes of an attention.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    groups: usize,
    length: usize,
    total: usize,
    dim: usize,
}

impl Sizes {
    fn new([queries, keys, _values]: &[FlexTensor; 3]) -> Self {
        let [batch, heads, length, dim] = shape(queries)[..] else { unreachable!("queries have four dimensions") };
        let [_, groups, total, _] = shape(keys)[..] else { unreachable!("keys have four dimensions") };
        Self { batch, heads, groups, length, total, dim }
    }

    /// Puts the results of every head of every sequence, `[length, dim]` each, where the following projection reads
    /// them: heads are innermost in memory.
    fn gather(self, parts: &[Vec<f32>], heads: usize, length: usize) -> FlexTensor {
        let Self { batch, dim, .. } = self;
        let mut output = vec![0.0; batch * length * heads * dim];
        for (index, part) in parts.iter().enumerate() {
            let start = (index / heads * length * heads + index % heads) * dim;
            let rows = output[start..].chunks_mut(heads * dim);
            rows.zip(part.chunks_exact(dim)).for_each(|(to, from)| to[..dim].copy_from_slice(from));
        }
        let output = flex(output, &[batch, length, heads, dim]);
        let strides = [length * heads * dim, dim, heads * dim, 1].map(|stride| stride as isize);
        output.with_layout(Layout::new(vec![batch, heads, length, dim].into(), strides.to_vec(), 0))
    }
}

/// Returns the tensor with the last dimension contiguous.
fn with_contiguous_rows(tensor: FlexTensor) -> FlexTensor {
    if tensor.layout().strides().last() == Some(&1) { tensor } else { tensor.to_contiguous() }
}

fn strides(tensor: &FlexTensor) -> [isize; 4] {
    tensor.layout().strides().try_into().expect("the tensor has four dimensions")
}

/// Returns rows of one head of one sequence: `[rows, dim]`.
fn matrix(tensor: &FlexTensor, batch: usize, head: usize, rows: Range<usize>) -> FlexTensor {
    let [batch_stride, head_stride, row_stride, stride] = strides(tensor);
    let dim = shape(tensor)[3];
    let offset = batch as isize * batch_stride + head as isize * head_stride + rows.start as isize * row_stride;
    let start = tensor.layout().start_offset() + offset as usize;
    tensor.clone().with_layout(Layout::new(vec![rows.len(), dim].into(), vec![row_stride, stride], start))
}

fn transposed(matrix: &FlexTensor) -> FlexTensor {
    matrix.transpose(0, 1)
}

/// Returns a row of a matrix whose rows are contiguous.
fn row_values(matrix: &FlexTensor, row: usize) -> &[f32] {
    let layout = matrix.layout();
    let start = layout.start_offset() + row * layout.strides()[0] as usize;
    &matrix.storage::<f32>()[start..start + layout.shape()[1]]
}
