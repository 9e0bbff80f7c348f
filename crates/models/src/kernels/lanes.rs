//! Arithmetic that the compiler turns into vector instructions.
//!
//! [`vectorized`] runs a function compiled for the widest vectors that the processor has; everything here is inlined
//! into it. Closures that run inside say `#[inline(always)]`, because a call would leave those instructions.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Elements that are worth a task of their own.
const TASK_ELEMENTS: usize = 1 << 15;

/// Runs `f` with the widest vector instructions of this processor.
#[inline(always)]
pub(super) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(f)
}

/// Returns the number of rows of `width` that make a task.
pub(super) fn rows_per_task(width: usize) -> usize {
    (TASK_ELEMENTS / width.max(1)).max(1)
}

/// Returns whether this thread's pool has others to share work with.
pub(super) fn parallel() -> bool {
    rayon::current_num_threads() > 1
}

/// Returns `f` of every index below `n`, in order, computed by the threads of the pool.
pub(super) fn map_indices<R: Send>(n: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
    if parallel() && n > 1 { (0..n).into_par_iter().map(f).collect() } else { (0..n).map(f).collect() }
}

/// Applies `f` to every chunk of `values` and its index, by the threads of the pool; each call is vectorized.
pub(super) fn for_chunks<R: Send>(
    values: &mut [f32],
    chunk: usize,
    f: impl Fn(usize, &mut [f32]) -> R + Sync + Send,
) -> Vec<R> {
    let f = |(index, chunk): (usize, &mut [f32])| {
        vectorized(
            #[inline(always)]
            || f(index, chunk),
        )
    };
    if parallel() && values.len() > chunk {
        values.par_chunks_mut(chunk).enumerate().map(f).collect()
    } else {
        values.chunks_mut(chunk).enumerate().map(f).collect()
    }
}

/// Applies `f` to every item and its index, by the threads of the pool; each call is vectorized.
pub(super) fn for_each<T: Send>(items: &mut [T], f: impl Fn(usize, &mut T) + Sync + Send) {
    let f = |(index, item): (usize, &mut T)| {
        vectorized(
            #[inline(always)]
            || f(index, item),
        );
    };
    if parallel() { items.par_iter_mut().enumerate().for_each(f) } else { items.iter_mut().enumerate().for_each(f) }
}

/// Adds `ys` to `xs`.
#[inline(always)]
pub(super) fn add(xs: &mut [f32], ys: &[f32]) {
    for (x, y) in xs.iter_mut().zip(ys) {
        *x += y;
    }
}

/// Returns the element-wise sum of equally long parts.
pub(super) fn total(parts: Vec<Vec<f32>>) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or_default();
    parts.for_each(|part| {
        vectorized(
            #[inline(always)]
            || add(&mut total, &part),
        );
    });
    total
}

/// Returns `e` to the power of `x`, with a relative error below 2e-7; 0 below -87.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Added and subtracted, it rounds to an integer, which stays in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x > 88.0 { 88.0 } else { x };
    let sum = clamped.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = sum - ROUND;
    // The logarithm of 2 in two parts, the first of which times `n` is exact.
    let rest = n.mul_add(-0.693_359_4, clamped);
    let rest = n.mul_add(2.121_944_4e-4, rest);
    let p = 1.987_569_1e-4_f32;
    let p = p.mul_add(rest, 1.398_199_9e-3);
    let p = p.mul_add(rest, 8.333_452e-3);
    let p = p.mul_add(rest, 4.166_579_6e-2);
    let p = p.mul_add(rest, 1.666_666_5e-1);
    let p = p.mul_add(rest, 0.5);
    let power = p.mul_add(rest * rest, rest) + 1.0;
    let scale = f32::from_bits((sum.to_bits() << 23).wrapping_add(0x3f80_0000));
    if x < -87.0 { 0.0 } else { power * scale }
}

/// Returns the distribution function and `exp(-x^2 / 2)` of the standard normal, with an absolute error below 2e-7.
///
/// # References
///
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, equation 7.1.26.
#[inline(always)]
pub(super) fn normal(x: f32) -> (f32, f32) {
    let bell = exp(-0.5 * x * x);
    let t = 1.0 / (0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2).mul_add(x.abs(), 1.0);
    let p = 1.061_405_4_f32;
    let p = p.mul_add(t, -1.453_152);
    let p = p.mul_add(t, 1.421_413_7);
    let p = p.mul_add(t, -0.284_496_74);
    let p = p.mul_add(t, 0.254_829_6);
    let tail = 0.5 * p * t * bell;
    (if x < 0.0 { tail } else { 1.0 - tail }, bell)
}

/// Returns the logistic function.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Returns the sum.
#[inline(always)]
pub(super) fn sum(xs: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(Sum(xs))
}

/// Returns the scalar product.
#[inline(always)]
pub(super) fn dot(xs: &[f32], ys: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(Dot(xs, ys))
}

/// Returns the largest element.
#[inline(always)]
pub(super) fn max(xs: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(Max(xs))
}

/// Replaces every element by its exponential relative to `max`, and returns their sum.
#[inline(always)]
pub(super) fn exp_and_sum(xs: &mut [f32], max: f32) -> f32 {
    for x in xs.iter_mut() {
        *x = exp(*x - max);
    }
    sum(xs)
}

// The compiler does not reorder sums, so that these reductions name their vectors; element-wise loops need not.

struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, rest) = S::as_simd_f32s(self.0);
        let (fours, last) = vectors.as_chunks::<4>();
        let mut sums = [simd.splat_f32s(0.0); 4];
        for four in fours {
            for (sum, x) in sums.iter_mut().zip(four) {
                *sum = simd.add_f32s(*sum, *x);
            }
        }
        for x in last {
            sums[0] = simd.add_f32s(sums[0], *x);
        }
        let sum = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
        rest.iter().fold(simd.reduce_sum_f32s(sum), |sum, x| sum + x)
    }
}

struct Dot<'a>(&'a [f32], &'a [f32]);

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (xs, x_rest) = S::as_simd_f32s(self.0);
        let (ys, y_rest) = S::as_simd_f32s(self.1);
        let ((x_fours, x_last), (y_fours, y_last)) = (xs.as_chunks::<4>(), ys.as_chunks::<4>());
        let mut sums = [simd.splat_f32s(0.0); 4];
        for (x, y) in x_fours.iter().zip(y_fours) {
            for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
                *sum = simd.mul_add_f32s(*x, *y, *sum);
            }
        }
        for (x, y) in x_last.iter().zip(y_last) {
            sums[0] = simd.mul_add_f32s(*x, *y, sums[0]);
        }
        let sum = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
        x_rest.iter().zip(y_rest).fold(simd.reduce_sum_f32s(sum), |sum, (x, y)| x.mul_add(*y, sum))
    }
}

struct Max<'a>(&'a [f32]);

impl WithSimd for Max<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, rest) = S::as_simd_f32s(self.0);
        let lanes = vectors.iter().fold(simd.splat_f32s(f32::NEG_INFINITY), |max, x| simd.max_f32s(max, *x));
        rest.iter().fold(simd.reduce_max_f32s(lanes), |max, x| if *x > max { *x } else { max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_accurate() {
        for index in -8690..=8790 {
            let x = index as f32 / 100.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 2e-7, "exp({x}) is off by {error}");
        }
        assert_eq!((exp(0.0), exp(-1e9), exp(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
        assert!(exp(f32::NAN).is_nan() && exp_and_sum(&mut [1.0, f32::NAN], 1.0).is_nan());
    }

    #[test]
    fn the_normal_distribution_has_its_tabulated_values() {
        for (x, expected) in
            [(0.0, 0.5), (0.5, 0.691_462_46), (1.0, 0.841_344_7), (2.0, 0.977_249_87), (4.0, 0.999_968_3)]
        {
            assert!((normal(x).0 - expected).abs() < 3e-7, "{x}");
            assert!((normal(-x).0 - (1.0 - expected)).abs() < 3e-7, "-{x}");
        }
    }

    #[test]
    fn sums_and_maxima_take_every_element() {
        for n in [1, 31, 32, 33, 100] {
            let mut xs: Vec<f32> = (1..=n).map(|x| x as f32).collect();
            let exact = [(n * (n + 1) / 2) as f32, n as f32, xs.iter().map(|x| x * x).sum()];
            assert_eq!([sum(&xs), max(&xs), dot(&xs, &xs)].map(f32::to_bits), exact.map(f32::to_bits));
            assert!((exp_and_sum(&mut xs, 200.0) - xs.iter().sum::<f32>()).abs() < 1e-30);
        }
    }
}
