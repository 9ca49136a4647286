//! Linear layers with the rectified linear unit behind them: the same as both operations, NaN and both zeros included.
//!
//! The oracle is that of [`linear`], and then that of [`relu`].

use super::prelude::*;
use super::{linear, relu};

/// The leading extents, the inner and the outer one.
const SIZES: [(&[usize], [usize; 2]); 11] = [
    (&[], [3, 2]),
    (&[1], [1, 1]),
    (&[7], [9, 5]),
    (&[2, 3], [31, 33]),
    (&[33], [32, 9]),
    (&[3], [257, 2]),
    (&[3], [1100, 13]),
    (&[5], [2100, 16]),
    (&[0], [4, 3]),
    (&[3], [0, 2]),
    (&[3], [4, 0]),
];

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for (lead, size) in SIZES {
            for bias in [true, false] {
                let with = if bias { "with" } else { "without" };
                let sentence = format!("random_{}_rows_of_{}_{with}_bias", name(lead), name(&size));
                cases.add(dtype, sentence, move |run| both(run, dtype, (lead, size), bias, 0));
            }
        }
        let sentence = "a_bias_is_added_to_each_of_thousands_of_columns";
        cases.add(dtype, sentence, move |run| {
            // So many that a device may take larger tiles, which are as many bytes wide whatever the type.
            let outer = if dtype == DType::F32 { 63 * 128 } else { 63 * 256 } + 136;
            forward(run, dtype, [72, 8, outer])
        });
        cases.starts(dtype, move |run, offset, _| both(run, dtype, (&[5], [33, 7]), true, offset));
        let sentence = "each_element_is_that_of_relu_behind_linear_bit_for_bit";
        cases.add(dtype, sentence, move |run| as_apart(run, dtype));
        cases.add(dtype, "a_zero_of_either_sign_gives_plus_zero", move |run| {
            let x = Stored::from_values(dtype, &[2, 1], [-0.0, 0.0]);
            let (w, b) = (ones(dtype, &[1, 1]), Stored::vector(dtype, [-0.0]));
            OpCase::new(OpInvocation::LinearRelu, &[&x, &w, &b]).exact(run, [(dtype, vec![0.0; 2])])
        });
        let sentence = "a_nan_stays_a_nan_and_passes_its_gradient_on";
        cases.add(dtype, sentence, move |run| nans(run, dtype));
    }
    refused(cases);
}

fn refused(cases: &mut OpCases) {
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let (x, w, y) = (float(&[2, 3]), float(&[4, 3]), float(&[2, 4]));
    let back = OpInvocation::LinearReluBackward { bias: true };
    let all = vec![
        (OpInvocation::LinearRelu, vec![x.clone(), float(&[3, 4])]),
        (OpInvocation::LinearRelu, vec![x.clone(), w.clone(), float(&[3])]),
        (OpInvocation::LinearRelu, vec![x.clone(), w.clone(), ones(DType::F16, &[4])]),
        (OpInvocation::LinearRelu, vec![x.clone(), ones(DType::F16, &[4, 3])]),
        (back.clone(), vec![float(&[2, 3]), y.clone(), x.clone(), w.clone()]),
        (back, vec![ones(DType::F16, &[2, 4]), y, x, w]),
    ];
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// The result with a bias.
fn forward(run: &mut OpRun<'_>, dtype: DType, size: [usize; 3]) -> Verdict {
    let [rows, inner, outer] = size;
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w, b) = (of(1, &[rows, inner]), of(2, &[outer, inner]), of(3, &[outer]));
    let wanted = linear_relu(&values(&x), &values(&w), Some(&values(&b)), size);
    OpCase::new(OpInvocation::LinearRelu, &[&x, &w, &b]).near(run, [(dtype, wanted)])
}

/// The result, and the gradients of input, weight and perhaps bias, from what the oracle says forward gave.
fn both(
    run: &mut OpRun<'_>,
    dtype: DType,
    (lead, [inner, outer]): (&[usize], [usize; 2]),
    bias: bool,
    offset: usize,
) -> Verdict {
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w) = (of(1, &[lead, &[inner]].concat()), of(2, &[outer, inner]));
    let out = [lead, &[outer]].concat();
    let (b, g) = (of(3, &[outer]), of(4, &out));
    let size = [lead.iter().product(), inner, outer];
    let bv = values(&b);
    let wanted = linear_relu(&values(&x), &values(&w), bias.then_some(&bv), size);
    let y = Stored::from_values(dtype, &out, wanted.iter().map(|wanted| wanted.value));
    let operands = [&x, &w, &b];
    let ask = OpCase::new(OpInvocation::LinearRelu, &operands[..2 + usize::from(bias)]);
    ask.at(offset).near(run, [(dtype, wanted)])?;
    let wanted = backward(&values(&g), &values(&y), &values(&x), &values(&w), size);
    let wanted = wanted.into_iter().take(2 + usize::from(bias)).map(|wanted| (dtype, wanted));
    OpCase::new(OpInvocation::LinearReluBackward { bias }, &[&g, &y, &x, &w])
        .at(offset)
        .near(run, wanted)
}

/// Sums of which about half are negative, some so long that a device cuts them.
fn as_apart(run: &mut OpRun<'_>, dtype: DType) -> Verdict {
    for [rows, inner, outer] in [[9, 33, 7], [70, 40, 72], [3, 4096, 5]] {
        let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
        let (x, w, b) = (of(1, &[rows, inner]), of(2, &[outer, inner]), of(3, &[outer]));
        for operands in [&[&x, &w, &b][..], &[&x, &w]] {
            let result = [(dtype, rows * outer)];
            let sums = OpCase::new(OpInvocation::Linear, operands).results(run, result)?.remove(0);
            let cut = OpCase::new(OpInvocation::Relu, &[&sums]).results(run, result)?.remove(0);
            OpCase::new(OpInvocation::LinearRelu, operands).same(run, &cut)?;
        }
    }
    Ok(())
}

fn nans(run: &mut OpRun<'_>, dtype: DType) -> Verdict {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let x = Stored::from_values(dtype, &[3, 2], [1.0, 2.0, bad, 1.0, 0.5, 0.25]);
        let w = uniform(1, dtype, &[2, 2], [0.5, 1.0]);
        let wanted = linear_relu(&values(&x), &values(&w), None, [3, 2, 2]);
        OpCase::new(OpInvocation::LinearRelu, &[&x, &w]).near(run, [(dtype, wanted)])?;
    }
    let y = Stored::from_values(dtype, &[3, 1], [f64::NAN, 0.0, 1.0]);
    let g = Stored::from_values(dtype, &[3, 1], [2.0, 4.0, 8.0]);
    let (x, w) = (ones(dtype, &[3, 1]), ones(dtype, &[1, 1]));
    let wanted = [vec![2.0, 0.0, 8.0], vec![10.0], vec![10.0]].map(|wanted| (dtype, wanted));
    OpCase::new(OpInvocation::LinearReluBackward { bias: true }, &[&g, &y, &x, &w])
        .exact(run, wanted)
}

/// Agreement: as matrix products of this arithmetic do.
pub(super) const AGREEMENT: Agrees = Agreement::of_matrix_products;

// The oracle.

/// `max(x·Wᵀ + b, 0)` with the mass of the sum: what is cut off is off by no more than before.
fn linear_relu(x: &[f64], w: &[f64], bias: Option<&[f64]>, size: [usize; 3]) -> Vec<Expected> {
    let cut = |wanted: Expected| match wanted.value {
        // Minus infinity is 0, and its mass nobody's room.
        value if value == f64::NEG_INFINITY => Expected::exactly(0.0),
        value => Expected { value: relu::relu(&[value])[0], ..wanted },
    };
    linear::linear(x, w, bias, size).into_iter().map(cut).collect()
}

/// Gradients of input, weight and bias, from the result `y`.
fn backward(grad: &[f64], y: &[f64], x: &[f64], w: &[f64], size: [usize; 3]) -> [Vec<Expected>; 3] {
    linear::backward(&relu::backward(grad, y), x, w, size)
}
