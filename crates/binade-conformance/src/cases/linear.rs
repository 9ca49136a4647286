//! Linear layers: with a bias and without, and the bias' gradient over every leading axis.
//!
//! The oracle is that of [`matmul`](super::matmul), with the bias as one term more of each sum.

use super::matmul::{matmul, transposed};
use super::prelude::*;
use super::sum::sum;

/// The leading extents, the inner and the outer one.
const SIZES: [(&[usize], [usize; 2]); 13] = [
    (&[], [3, 2]),
    (&[1], [1, 1]),
    (&[2], [3, 4]),
    (&[7], [9, 5]),
    (&[8], [8, 8]),
    (&[2, 3], [31, 33]),
    (&[33], [32, 9]),
    (&[3], [257, 2]),
    (&[9], [5, 65]),
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
            let [inner, outer] =
                if dtype == DType::F32 { [9, 63 * 128 + 129] } else { [104, 63 * 256 + 40] };
            forward(run, dtype, [65, inner, outer])
        });
        cases.starts(dtype, move |run, offset, _| both(run, dtype, (&[5], [33, 7]), true, offset));
        cases.add(dtype, "4096_ones_and_a_bias_add_up", move |run| {
            let (x, w) = (ones(dtype, &[2, 4096]), ones(dtype, &[3, 4096]));
            let b = Stored::vector(dtype, [2.0, 32.0, -4096.0]);
            let wanted = [4098.0, 4128.0, 0.0].repeat(2);
            OpCase::new(OpInvocation::Linear, &[&x, &w, &b]).exact(run, [(dtype, wanted)])
        });
        cases.add(dtype, "gradients_are_summed_wide_over_every_row", move |run| {
            let (g, x, w) =
                (ones(dtype, &[4099, 2]), ones(dtype, &[4099, 3]), ones(dtype, &[2, 3]));
            let wanted = [vec![2.0; 4099 * 3], vec![4099.0; 6], vec![4099.0; 2]];
            OpCase::new(OpInvocation::LinearBackward { bias: true }, &[&g, &x, &w])
                .exact(run, wanted.map(|wanted| (dtype, wanted)))
        });
        let sentence = "the_gradient_of_the_bias_is_rounded_once_to_nearest_even";
        cases.add(dtype, sentence, move |run| {
            for (rows, sum) in [(257, 257.0), (259, 259.0), (2049, 2049.0), (2051, 2051.0)] {
                let (g, x) = (ones(dtype, &[rows, 2]), ones(dtype, &[rows, 1]));
                let wanted = [vec![2.0; rows], vec![sum; 2], vec![sum; 2]];
                let wanted = wanted.map(|wanted| (dtype, wanted));
                let op = OpInvocation::LinearBackward { bias: true };
                OpCase::new(op, &[&g, &x, &ones(dtype, &[2, 1])]).exact(run, wanted)?;
            }
            Ok(())
        });
        cases.add(dtype, "sums_of_1700_in_rows_of_every_width", move |run| {
            (1..=17).try_for_each(|outer| forward(run, dtype, [2, 1700, outer]))
        });
        let sentence = "the_gradient_of_the_bias_has_every_row_of_thousands";
        cases.add(dtype, sentence, move |run| {
            // From many rows to few, so that what an earlier sum left in memory would be seen.
            (0..8).rev().try_for_each(|i| both(run, dtype, (&[2100 + 256 * i], [1, 3]), true, 0))
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_rows", move |run| {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let x = Stored::from_values(dtype, &[3, 2], [1.0, 2.0, bad, 1.0, 0.5, 0.25]);
                let w = uniform(1, dtype, &[2, 2], [0.5, 1.0]);
                let wanted = linear(&values(&x), &values(&w), None, [3, 2, 2]);
                OpCase::new(OpInvocation::Linear, &[&x, &w]).near(run, [(dtype, wanted)])?;
            }
            Ok(())
        });
    }
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let (x, w) = (float(&[2, 3]), float(&[4, 3]));
    let bias = OpInvocation::LinearBackward { bias: true };
    let all = vec![
        (OpInvocation::Linear, vec![x.clone(), float(&[3, 4])]),
        (OpInvocation::Linear, vec![x.clone(), w.clone(), float(&[3])]),
        (OpInvocation::Linear, vec![x.clone(), w.clone(), ones(DType::F16, &[4])]),
        (OpInvocation::Linear, vec![x.clone(), ones(DType::F16, &[4, 3])]),
        (bias.clone(), vec![float(&[2, 3]), x.clone(), w.clone()]),
        (bias, vec![ones(DType::F16, &[2, 4]), x, w]),
    ];
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// The result with a bias.
fn forward(run: &mut OpRun<'_>, dtype: DType, size: [usize; 3]) -> Verdict {
    let [rows, inner, outer] = size;
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w, b) = (of(1, &[rows, inner]), of(2, &[outer, inner]), of(3, &[outer]));
    let wanted = linear(&values(&x), &values(&w), Some(&values(&b)), size);
    OpCase::new(OpInvocation::Linear, &[&x, &w, &b]).near(run, [(dtype, wanted)])
}

/// The result, and the gradients of input, weight and perhaps bias.
fn both(
    run: &mut OpRun<'_>,
    dtype: DType,
    (lead, [inner, outer]): (&[usize], [usize; 2]),
    bias: bool,
    offset: usize,
) -> Verdict {
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w) = (of(1, &[lead, &[inner]].concat()), of(2, &[outer, inner]));
    let (b, g) = (of(3, &[outer]), of(4, &[lead, &[outer]].concat()));
    let size = [lead.iter().product(), inner, outer];
    let bv = values(&b);
    let wanted = linear(&values(&x), &values(&w), bias.then_some(&bv), size);
    let operands = [&x, &w, &b];
    OpCase::new(OpInvocation::Linear, &operands[..2 + usize::from(bias)])
        .at(offset)
        .near(run, [(dtype, wanted)])?;
    let wanted = backward(&values(&g), &values(&x), &values(&w), size);
    let wanted = wanted.into_iter().take(2 + usize::from(bias)).map(|wanted| (dtype, wanted));
    OpCase::new(OpInvocation::LinearBackward { bias }, &[&g, &x, &w]).at(offset).near(run, wanted)
}

/// Agreement: as matrix products of this arithmetic do.
pub(super) const AGREEMENT: Agrees = Agreement::of_matrix_products;

// The oracle.

/// `x·Wᵀ + b` for `x` [rows, inner] and `W` [outer, inner], with the bias as one term more of each sum.
pub(super) fn linear(
    x: &[f64],
    w: &[f64],
    bias: Option<&[f64]>,
    [rows, inner, outer]: [usize; 3],
) -> Vec<Expected> {
    let mut y = matmul(x, &transposed(w, outer, inner), [rows, inner, outer]);
    if let Some(bias) = bias {
        for (i, wanted) in y.iter_mut().enumerate() {
            let b = bias[i % outer];
            wanted.value += b;
            wanted.mass = count(inner + 1) * (wanted.products + b.abs());
        }
    }
    y
}

/// Gradients of input, weight and bias.
pub(super) fn backward(
    grad: &[f64],
    x: &[f64],
    w: &[f64],
    [rows, inner, outer]: [usize; 3],
) -> [Vec<Expected>; 3] {
    let column = |o: usize| grad.iter().skip(o).step_by(outer).copied().collect::<Vec<f64>>();
    [
        matmul(grad, w, [rows, outer, inner]),
        matmul(&transposed(grad, rows, outer), x, [outer, rows, inner]),
        (0..outer).map(|o| sum(&column(o))).collect(),
    ]
}
