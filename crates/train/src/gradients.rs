//! Gradients of a batch: one graph per micro-batch, summed in order, clipped by their global norm.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;

/// Adds up the gradients of micro-batches, in their order.
#[must_use]
pub fn sum<M: Module>(module: &M, parts: impl IntoIterator<Item = GradientsParams>) -> GradientsParams {
    let mut accumulator = GradientsAccumulator::new();
    for part in parts {
        accumulator.accumulate(module, part);
    }
    accumulator.grads()
}

/// Scales gradients down so that their global L2 norm is at most `norm_max`, and returns the norm before.
///
/// burn clips each tensor by itself; the papers clip all of them by one factor.
#[must_use]
pub fn clip_by_global_norm<M: Module>(module: &M, gradients: GradientsParams, norm_max: f64) -> (GradientsParams, f64) {
    let mut norm = SquaredNorm { gradients: &gradients, sum: 0.0 };
    module.visit(&mut norm);
    let norm = norm.sum.sqrt();
    if norm <= norm_max {
        return (gradients, norm);
    }
    let mut scaled = Scaled { gradients, factor: norm_max / (norm + 1e-6), result: GradientsParams::new() };
    module.visit(&mut scaled);
    (scaled.result, norm)
}

struct SquaredNorm<'a> {
    gradients: &'a GradientsParams,
    sum: f64,
}

impl ModuleVisitor for SquaredNorm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.sum += gradient.clone().mul(gradient).sum().into_scalar::<f64>();
        }
    }
}

struct Scaled {
    gradients: GradientsParams,
    factor: f64,
    result: GradientsParams,
}

impl ModuleVisitor for Scaled {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.result.register(param.id, gradient.mul_scalar(self.factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;

    fn gradients(layer: &Linear, scale: f64) -> GradientsParams {
        let input = Tensor::<2>::ones([3, 4], &Device::flex().autodiff());
        GradientsParams::from_grads(layer.forward(input).sum().mul_scalar(scale).backward(), layer)
    }

    fn layer() -> Linear {
        LinearConfig::new(4, 2).init(&Device::flex().autodiff())
    }

    #[test]
    fn the_norm_is_that_of_all_gradients_together() {
        // Weight: 8 entries of 3 each; bias: 2 entries of 3 each.
        let layer = layer();
        let (clipped, norm) = clip_by_global_norm(&layer, gradients(&layer, 1.0), 1.0);
        assert!((norm - 90f64.sqrt()).abs() < 1e-5);
        let (_, after) = clip_by_global_norm(&layer, clipped, f64::INFINITY);
        assert!((after - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_small_gradient_is_left_alone() {
        let layer = layer();
        let (_, norm) = clip_by_global_norm(&layer, gradients(&layer, 0.01), 1.0);
        assert!((norm - 0.01 * 90f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn micro_batches_sum_to_the_batch() {
        let layer = layer();
        let parts = [gradients(&layer, 0.25), gradients(&layer, 0.75)];
        let weight = |gradients: GradientsParams| gradients.get::<2>(layer.weight.id).unwrap().into_data();
        let whole = weight(gradients(&layer, 1.0));
        weight(sum(&layer, parts)).assert_approx_eq::<f32>(&whole, burn::tensor::Tolerance::default());
    }
}
