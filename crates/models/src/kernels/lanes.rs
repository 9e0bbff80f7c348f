//! Arithmetic that the compiler turns into vector instructions.
//!
//! [`vectorized`] runs a function compiled for the widest vectors that the processor has; everything here is inlined
//! into it. Sums and maxima run in a fixed number of lanes, so that their order, and with it the result, does not
//! depend on the processor's vector width.

use rayon::prelude::*;

/// Lanes of a sum or a maximum.
const LANES: usize = 32;

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
        )
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
        )
    });
    total
}

/// Returns `e` to the power of `x`, with a relative error below 2e-7; 0 below -87.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Added and subtracted, it rounds to an integer, which stays in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x < 88.0 { x } else { 88.0 };
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

/// Returns the sum of `f` over corresponding elements.
#[inline(always)]
pub(super) fn sum_of(xs: &[f32], ys: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (xs, x_rest) = xs.as_chunks::<LANES>();
    let (ys, y_rest) = ys.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            lanes[lane] += f(x[lane], y[lane]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *lane += f(*x, *y);
    }
    fold(
        lanes,
        #[inline(always)]
        |a, b| a + b,
    )
}

/// Returns the sum.
#[inline(always)]
pub(super) fn sum(xs: &[f32]) -> f32 {
    sum_of(
        xs,
        xs,
        #[inline(always)]
        |x, _| x,
    )
}

/// Returns the sum of `f` of every element.
#[inline(always)]
pub(super) fn sum_with(xs: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    sum_of(
        xs,
        xs,
        #[inline(always)]
        |x, _| f(x),
    )
}

/// Returns the largest element.
#[inline(always)]
pub(super) fn max(xs: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = xs.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = larger(chunk[lane], lanes[lane]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = larger(*x, *lane);
    }
    fold(lanes, larger)
}

/// Replaces every element by the first number that `f` returns for its index and value, and sums the second.
#[inline(always)]
pub(super) fn replace_and_sum(xs: &mut [f32], f: impl Fn(usize, f32) -> (f32, f32)) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (chunks, rest) = xs.as_chunks_mut::<LANES>();
    let first = chunks.len() * LANES;
    for (index, chunk) in chunks.iter_mut().enumerate() {
        for lane in 0..LANES {
            let (value, term) = f(index * LANES + lane, chunk[lane]);
            chunk[lane] = value;
            lanes[lane] += term;
        }
    }
    for (lane, (sum, x)) in lanes.iter_mut().zip(rest).enumerate() {
        let (value, term) = f(first + lane, *x);
        *x = value;
        *sum += term;
    }
    fold(
        lanes,
        #[inline(always)]
        |a, b| a + b,
    )
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Folds the upper half onto the lower until one lane is left.
#[inline(always)]
fn fold(mut lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = f(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
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
    }

    #[test]
    fn the_normal_distribution_has_its_tabulated_values() {
        for (x, expected) in
            [(0.0, 0.5), (0.5, 0.691_462_46), (1.0, 0.841_344_75), (2.0, 0.977_249_87), (4.0, 0.999_968_3)]
        {
            assert!((normal(x).0 - expected).abs() < 3e-7, "{x}");
            assert!((normal(-x).0 - (1.0 - expected)).abs() < 3e-7, "-{x}");
        }
    }

    #[test]
    fn sums_and_maxima_take_every_element() {
        for n in [1, 31, 32, 33, 100] {
            let mut xs: Vec<f32> = (1..=n).map(|x| x as f32).collect();
            assert_eq!(sum(&xs), (n * (n + 1) / 2) as f32);
            assert_eq!(max(&xs), n as f32);
            assert_eq!(replace_and_sum(&mut xs, |_, x| (0.0, 2.0 * x)), (n * (n + 1)) as f32);
        }
    }
}
