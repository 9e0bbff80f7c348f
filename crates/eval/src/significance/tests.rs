//! Closed forms and properties of intervals.

use proptest::prelude::*;

use super::*;
use repo::random::stream;

#[test]
fn no_samples_have_no_mean() {
    let interval = mean_interval(&[], &mut stream(1, "none"));
    assert!(interval.mean.is_nan() && interval.low.is_nan() && interval.high.is_nan());
    assert_eq!(interval.n, 0);
    assert!(!interval.excludes_zero());
}

#[test]
fn equal_values_have_an_interval_of_no_width() {
    for values in [vec![0.1], vec![0.1; 7]] {
        let interval = mean_interval(&values, &mut stream(1, "equal"));
        assert!((interval.mean - 0.1).abs() < 1e-15);
        assert!((interval.low - interval.mean).abs() < 1e-15);
        assert!((interval.high - interval.mean).abs() < 1e-15);
    }
}

#[test]
fn a_value_that_is_not_finite_is_not_hidden() {
    let interval = mean_interval(&[1.0, f64::NAN], &mut stream(1, "nan"));
    assert!(interval.mean.is_nan() && interval.high.is_nan());
}

#[test]
fn the_interval_of_a_coin_agrees_with_the_normal_approximation() {
    let values: Vec<f64> = (0..1000).map(|index| f64::from(index % 2)).collect();
    let interval = mean_interval(&values, &mut stream(7, "coin"));
    let expected = 1.96 * (0.25_f64 / 1000.0).sqrt();
    assert!((interval.high - 0.5 - expected).abs() < 0.002, "{interval:?}");
    assert!((0.5 - interval.low - expected).abs() < 0.002, "{interval:?}");
}

#[test]
fn the_same_stream_gives_the_same_interval() {
    let values: Vec<f64> = (0..50).map(|index| f64::from(index).sqrt()).collect();
    let first = mean_interval(&values, &mut stream(3, "a"));
    assert_eq!(first, mean_interval(&values, &mut stream(3, "a")));
    assert_ne!(first, mean_interval(&values, &mut stream(3, "b")));
}

#[test]
fn better_follows_the_direction_of_the_metric() {
    let (arm, baseline) = ([1.0, 2.0, 3.0, 3.0], [2.0, 1.0, 1.0, 3.0]);
    let higher = paired_difference(&arm, &baseline, Direction::Higher, &mut stream(1, "d"));
    let lower = paired_difference(&arm, &baseline, Direction::Lower, &mut stream(1, "d"));
    assert_eq!((higher.better, higher.worse), (2, 1));
    assert_eq!((lower.better, lower.worse), (1, 2));
    assert_eq!(higher.difference, lower.difference);
    assert!((higher.difference.mean - 0.5).abs() < 1e-12);
}

fn ratio(counts: &[f64]) -> f64 {
    counts[0] / counts[1]
}

#[test]
fn a_ratio_of_sums_is_no_mean_of_ratios() {
    let rows = [vec![1.0, 1.0], vec![0.0, 3.0], vec![0.0, 0.0]];
    let interval = pooled_interval(&rows, ratio, &mut stream(1, "ratio"));
    assert!((interval.mean - 0.25).abs() < 1e-12);
    assert_eq!(interval.n, 3);
    assert!(pooled_interval(&[], ratio, &mut stream(1, "ratio")).mean.is_nan());
}

#[test]
fn counts_of_one_are_a_mean() {
    let values: Vec<f64> = (0..40).map(|index| f64::from(index % 7)).collect();
    let others: Vec<f64> = (0..40).map(|index| f64::from(index % 5)).collect();
    let rows = |values: &[f64]| values.iter().map(|value| vec![*value, 1.0]).collect::<Vec<_>>();
    let near = |left: Interval, right: Interval| {
        let ends = [(left.mean, right.mean), (left.low, right.low), (left.high, right.high)];
        assert!(ends.iter().all(|(left, right)| (left - right).abs() < 1e-12), "{left:?} {right:?}");
    };
    near(
        pooled_interval(&rows(&values), ratio, &mut stream(1, "mean")),
        mean_interval(&values, &mut stream(1, "mean")),
    );
    let direction = Direction::Higher;
    let pooled = pooled_difference(&rows(&values), &rows(&others), ratio, direction, &mut stream(1, "pair"));
    let paired = paired_difference(&values, &others, direction, &mut stream(1, "pair"));
    near(pooled.difference, paired.difference);
    near(pooled.relative, paired.relative);
    assert_eq!((pooled.better, pooled.worse), (paired.better, paired.worse));
}

#[test]
fn a_factor_is_the_relative_difference_of_every_resample() {
    let baseline: Vec<f64> = (1..20).map(f64::from).collect();
    let arm: Vec<f64> = baseline.iter().map(|value| 1.25 * value).collect();
    let paired = paired_difference(&arm, &baseline, Direction::Higher, &mut stream(1, "factor"));
    let Interval { mean, low, high, .. } = paired.relative;
    assert!([mean, low, high].iter().all(|value| (value - 0.25).abs() < 1e-12));
    let nothing = paired_difference(&arm, &[0.0; 19], Direction::Higher, &mut stream(1, "factor"));
    assert!(!nothing.relative.mean.is_finite());
}

#[test]
fn percentiles_are_interpolated() {
    let sorted = [0.0, 10.0, 20.0];
    assert!((percentile(&sorted, 0.25) - 5.0).abs() < 1e-12);
    assert!((percentile(&sorted, 1.0) - 20.0).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_interval_lies_within_the_values(
        values in prop::collection::vec(-100.0_f64..100.0, 1..20),
        seed: u64,
    ) {
        let interval = mean_interval(&values, &mut stream(seed, "property"));
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(lowest - 1e-9 <= interval.low && interval.low <= interval.high);
        prop_assert!(interval.high <= highest + 1e-9);
        prop_assert!(lowest - 1e-9 <= interval.mean && interval.mean <= highest + 1e-9);
    }

    #[test]
    fn a_shift_moves_the_interval_with_it(
        values in prop::collection::vec(-10.0_f64..10.0, 1..12),
        shift in -5.0_f64..5.0,
    ) {
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let difference =
            paired_difference(&shifted, &values, Direction::Higher, &mut stream(1, "shift"));
        prop_assert!((difference.difference.mean - shift).abs() < 1e-9);
        prop_assert!((difference.difference.low - shift).abs() < 1e-9);
        prop_assert!((difference.difference.high - shift).abs() < 1e-9);
    }
}
