//! Linear layers: with a bias and without, and the bias' gradient over every leading axis.
//!
//! The oracle is that of [`matmul`](super::matmul), with the bias as one term more of each sum.

use super::linear_relu::linear_relu;
use super::matmul::{matmul, transposed};
use super::prelude::*;
use super::relu;
use super::sum::sum;
use crate::OpInvocation::{Linear, LinearBackward, LinearRelu, LinearReluBackward};

/// The leading extents, and the inner and the outer one.
const SIZES: &str = ":3x2 1:1x1 2:3x4 7:9x5 8:8x8 2x3:31x33 33:32x9 33:32x8 9:5x65 9:5x64 \
    3:257x2 67:33x136 5:2100x16 0:4x3 3:0x2 3:4x0";

/// A linear layer, alone or with the rectified linear unit behind it.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Layer {
    Plain,
    Relu,
}

impl Layer {
    fn op(self) -> OpInvocation {
        if self == Self::Relu { LinearRelu } else { Linear }
    }

    fn output(
        self,
        [x, w]: [&Stored; 2],
        bias: Option<&Stored>,
        size: [usize; 3],
    ) -> Vec<Expected> {
        let of = if self == Self::Relu { linear_relu } else { linear };
        of(&values(x), &values(w), bias.map(values).as_deref(), size)
    }

    /// Adds the cases of every size, of views, of both infinities and NaN, and of operands that do not fit.
    pub(super) fn add(self, cases: &mut OpCases, list: &str) {
        for dtype in FLOATS {
            for [lead, size] in sized(list) {
                for bias in [true, false] {
                    let with = if bias { "with" } else { "without" };
                    let (rows, inner) = (name(&lead), name(&size));
                    let sentence = format!("random_{rows}_rows_of_{inner}_{with}_bias");
                    let (lead, size) = (lead.clone(), [size[0], size[1]]);
                    cases.add(dtype, sentence, move |run| {
                        self.both(run, dtype, (&lead, size), bias)
                    });
                }
            }
            cases.starts(dtype, move |run, _, _| self.both(run, dtype, (&[5], [33, 7]), true));
        }
        let bias = true;
        let back = match self {
            Self::Plain => (LinearBackward { bias }, "2x3 2x3 4x3, f16:2x4 2x3 4x3"),
            Self::Relu => (LinearReluBackward { bias }, "2x3 2x4 2x3 4x3, f16:2x4 2x4 2x3 4x3"),
        };
        let forward = (self.op(), "2x3 3x4, 2x3 4x3 3, 2x3 4x3 f16:4, 2x3 f16:4x3");
        mismatches(cases, [forward, back]);
    }

    /// Compares the result with a bias.
    pub(super) fn forward(self, run: &mut OpRun<'_>, dtype: DType, size: [usize; 3]) -> Verdict {
        let [x, w, b] = operands(dtype, &size[..1], [size[1], size[2]]);
        let wanted = self.output([&x, &w], Some(&b), size);
        run.near(self.op(), &[&x, &w, &b], [(dtype, wanted)])
    }

    /// Compares the result, and the gradients of input, weight and perhaps bias from the oracle's result.
    pub(super) fn both(
        self,
        run: &mut OpRun<'_>,
        dtype: DType,
        (lead, [inner, outer]): (&[usize], [usize; 2]),
        bias: bool,
    ) -> Verdict {
        let [x, w, b] = operands(dtype, lead, [inner, outer]);
        let out = [lead, &[outer]].concat();
        let g = uniform(4, dtype, &out, [-1.0, 1.0]);
        let (size, count) = ([lead.iter().product(), inner, outer], 2 + usize::from(bias));
        let wanted = self.output([&x, &w], bias.then_some(&b), size);
        let y = Stored::from_values(dtype, &out, wanted.iter().map(|wanted| wanted.value));
        run.near(self.op(), &[&x, &w, &b][..count], [(dtype, wanted)])?;
        let grads = |g: &[f64]| {
            let grads = backward(g, &values(&x), &values(&w), size);
            grads.into_iter().take(count).map(|wanted| (dtype, wanted))
        };
        match self {
            Self::Plain => run.near(LinearBackward { bias }, &[&g, &x, &w], grads(&values(&g))),
            Self::Relu => {
                let wanted = grads(&relu::backward(&values(&g), &values(&y)));
                run.near(LinearReluBackward { bias }, &[&g, &y, &x, &w], wanted)
            }
        }
    }

    /// Compares rows of which one has an element that is not finite.
    pub(super) fn non_finite(self, run: &mut OpRun<'_>, dtype: DType) -> Verdict {
        NON_FINITE.into_iter().try_for_each(|bad| {
            let x = Stored::from_values(dtype, &[3, 2], [1.0, 2.0, bad, 1.0, 0.5, 0.25]);
            let w = uniform(1, dtype, &[2, 2], [0.5, 1.0]);
            let wanted = self.output([&x, &w], None, [3, 2, 2]);
            run.near(self.op(), &[&x, &w], [(dtype, wanted)])
        })
    }
}

/// Input, weight and bias.
pub(super) fn operands(dtype: DType, lead: &[usize], [inner, outer]: [usize; 2]) -> [Stored; 3] {
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    [of(1, &[lead, &[inner]].concat()), of(2, &[outer, inner]), of(3, &[outer])]
}

pub(super) fn add_cases(cases: &mut OpCases) {
    Layer::Plain.add(cases, SIZES);
    for dtype in FLOATS {
        let sentence = "a_bias_is_added_to_each_of_thousands_of_columns";
        cases.add(dtype, sentence, move |run| {
            // Large enough that a device may use larger tiles, whose width in bytes is the same for every type.
            let [inner, outer] =
                if dtype == DType::F32 { [9, 63 * 128 + 129] } else { [104, 63 * 256 + 40] };
            Layer::Plain.forward(run, dtype, [65, inner, outer])
        });
        cases.add(dtype, "4096_ones_and_a_bias_add_up", move |run| {
            let (x, w) = (ones(dtype, &[2, 4096]), ones(dtype, &[3, 4096]));
            let b = Stored::vector(dtype, [2.0, 32.0, -4096.0]);
            let wanted = [4098.0, 4128.0, 0.0].repeat(2);
            run.exact(Linear, &[&x, &w, &b], [(dtype, wanted)])
        });
        let of_ones = move |run: &mut OpRun<'_>, rows: usize, [inner, outer]: [usize; 2]| {
            let of = |shape: &[usize]| ones(dtype, shape);
            let operands = [of(&[rows, outer]), of(&[rows, inner]), of(&[outer, inner])];
            let wanted = [
                vec![count(outer); rows * inner],
                vec![count(rows); outer * inner],
                vec![count(rows); outer],
            ];
            let op = LinearBackward { bias: true };
            run.exact(op, &operands.each_ref(), wanted.map(|wanted| (dtype, wanted)))
        };
        cases.add(dtype, "gradients_are_summed_wide_over_every_row", move |run| {
            of_ones(run, 4099, [3, 2])
        });
        let sentence = "the_gradient_of_the_bias_is_rounded_once_to_nearest_even";
        cases.add(dtype, sentence, move |run| {
            [257, 259, 2049, 2051].into_iter().try_for_each(|rows| of_ones(run, rows, [1, 2]))
        });
        cases.add(dtype, "sums_of_1700_in_rows_of_every_width", move |run| {
            (1..=17).try_for_each(|outer| Layer::Plain.forward(run, dtype, [2, 1700, outer]))
        });
        let sentence = "the_gradient_of_the_bias_has_every_row_of_thousands";
        cases.add(dtype, sentence, move |run| {
            // From many rows to few, so that left-overs of an earlier sum in memory show.
            (0..8)
                .rev()
                .try_for_each(|i| Layer::Plain.both(run, dtype, (&[2100 + 256 * i], [1, 3]), true))
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_rows", move |run| {
            Layer::Plain.non_finite(run, dtype)
        });
    }
}

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
