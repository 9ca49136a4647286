//! Operations, a file each, named as in `binade_core::ops`.
//!
//! Each checks its operands, widens them to f32, computes, and narrows once.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

mod im2col;
mod operands;
mod pointwise;
mod row_norm;

use crate::Cpu;
use binade_core::ops::op_modules;

binade_core::ops::for_each_op!([op_modules]);

// The compiler checks here that the handle has every operation.
const _: fn() = || {
    fn has_all<D: binade_core::ops::Ops>() {}
    has_all::<Cpu>();
};
