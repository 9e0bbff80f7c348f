//! A bias and an activation in one pass: GELU, exact or by a hyperbolic tangent, and gated units.

use burn::backend::flex::FlexTensor;
use burn::tensor::{Tensor, activation};

use super::lanes::{exp, map_indices, normal, rows_per_task, sigmoid, vectorized};
use super::operation::{self, Operation, flex, shape, values};
