//! Linear layers followed by the rectified linear unit: the same as the two operations, NaN and both zeros included.
//!
//! The oracle is that of [`linear`], and then that of [`relu`].

use super::linear::{Layer, linear, operands};
use super::prelude::*;
use super::relu::relu;
use crate::OpInvocation::{Linear, LinearRelu, LinearReluBackward, Relu};

/// The leading extents, and the inner and the outer one.
const SIZES: &str =
    ":3x2 1:1x1 7:9x5 2x3:31x33 33:32x9 3:257x2 3:1100x13 5:2100x16 0:4x3 3:0x2 3:4x0";

pub(super) fn add_cases(cases: &mut OpCases) {
    Layer::Relu.add(cases, SIZES);
    for dtype in FLOATS {
        let sentence = "a_bias_is_added_to_each_of_thousands_of_columns";
        cases.add(dtype, sentence, move |run| {
            // Large enough that a device may use larger tiles, whose width in bytes is the same for every type.
            let outer = if dtype == DType::F32 { 63 * 128 } else { 63 * 256 } + 136;
            Layer::Relu.forward(run, dtype, [72, 8, outer])
        });
        let sentence = "each_element_is_that_of_relu_behind_linear_bit_for_bit";
        cases.add(dtype, sentence, move |run| as_apart(run, dtype));
        cases.add(dtype, "a_zero_of_either_sign_gives_plus_zero", move |run| {
            let x = Stored::from_values(dtype, &[2, 1], [-0.0, 0.0]);
            let (w, b) = (ones(dtype, &[1, 1]), Stored::vector(dtype, [-0.0]));
            run.exact(LinearRelu, &[&x, &w, &b], [(dtype, vec![0.0; 2])])
        });
        cases.add(dtype, "a_nan_stays_a_nan_and_passes_its_gradient_on", move |run| {
            Layer::Relu.non_finite(run, dtype)?;
            let y = Stored::from_values(dtype, &[3, 1], [f64::NAN, 0.0, 1.0]);
            let g = Stored::from_values(dtype, &[3, 1], [2.0, 4.0, 8.0]);
            let (x, w) = (ones(dtype, &[3, 1]), ones(dtype, &[1, 1]));
            let wanted = [vec![2.0, 0.0, 8.0], vec![10.0], vec![10.0]];
            let op = LinearReluBackward { bias: true };
            run.exact(op, &[&g, &y, &x, &w], wanted.map(|wanted| (dtype, wanted)))
        });
    }
}

/// Compares sums of which about half are negative, some so long that a device splits them.
fn as_apart(run: &mut OpRun<'_>, dtype: DType) -> Verdict {
    for [rows, inner, outer] in [[9, 33, 7], [70, 40, 72], [3, 4096, 5]] {
        let [x, w, b] = operands(dtype, &[rows], [inner, outer]);
        for operands in [&[&x, &w, &b][..], &[&x, &w]] {
            let like = (dtype, rows * outer);
            let sums = run.result(&Linear, operands, like)?;
            let cut = run.result(&Relu, &[&sums], like)?;
            run.same(LinearRelu, operands, &cut)?;
        }
    }
    Ok(())
}

// The oracle.

/// Returns `max(x·Wᵀ + b, 0)` with the mass of the sum: the maximum does not increase the error.
pub(super) fn linear_relu(
    x: &[f64],
    w: &[f64],
    bias: Option<&[f64]>,
    size: [usize; 3],
) -> Vec<Expected> {
    let cut = |wanted: Expected| match wanted.value {
        // Minus infinity becomes 0, exactly.
        value if value == f64::NEG_INFINITY => Expected::exactly(0.0),
        value => Expected { value: relu(&[value])[0], ..wanted },
    };
    linear(x, w, bias, size).into_iter().map(cut).collect()
}
