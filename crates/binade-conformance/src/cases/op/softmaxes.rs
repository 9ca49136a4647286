//! Cases that softmax and its logarithm share: large rows, masked elements, rows that are NaN.

use super::{OpCases, OpRun, mismatches, ones, uniform, values};
use crate::cases::{
    FLOATS,
    values::{both_signs, infinity, name, shapes, wide_rows},
};
use crate::{Expected, OpInvocation, Stored, Verdict};
use binade_core::DType;

/// Softmax or its logarithm, with its oracle.
#[derive(Debug)]
pub(in crate::cases) struct Softmaxes {
    pub(in crate::cases) forward: OpInvocation,
    pub(in crate::cases) backward: OpInvocation,
    /// Oracle of the output, by the input and the width of its rows.
    pub(in crate::cases) output: fn(&[f64], usize) -> Vec<Expected>,
    /// Oracle of the input's gradient, by the output's gradient, the output and the width.
    pub(in crate::cases) gradient: fn(&[f64], &[f64], usize) -> Vec<Expected>,
}

const SHAPES: &str =
    "1 7 3x8 2x9 9x31 3x32 5x33 2x255 3x256 2x257 2x3x5 2x1025 2x8203 3x4 2x6 2x10 0x3 3x0";

impl Softmaxes {
    pub(in crate::cases) fn add(&'static self, cases: &mut OpCases) {
        for dtype in FLOATS {
            for shape in shapes(SHAPES) {
                cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                    self.both(run, &uniform(1, dtype, &shape, [-4.0, 4.0]))
                });
            }
            self.rows(cases, dtype);
            cases.starts(dtype, move |run, seed, _| {
                self.both(run, &uniform(seed, dtype, &[3, 33], [-4.0, 4.0]))
            });
        }
        let backward = (self.backward.clone(), "2x3 3x2, f16:2x3 2x3");
        mismatches(cases, [(self.forward.clone(), "scalar"), backward]);
    }

    /// Adds cases of rows that often go wrong.
    fn rows(&'static self, cases: &mut OpCases, dtype: DType) {
        cases.add(dtype, "no_finite_row_overflows", move |run| {
            for row in [
                [60000.0, 59904.0, 59000.0],
                [-60000.0, -59904.0, -60000.0],
                [60000.0, -60000.0, 0.0],
            ] {
                self.both(run, &Stored::from_values(dtype, &[1, 3], row))?;
            }
            let widest = Stored::from_values(dtype, &[1, 4], [88.0, 89.0, 90.0, 720.0]);
            self.both(run, &widest)?;
            let ramp = Stored::from_values(dtype, &[1, 112], (0..112).map(|i| -f64::from(i)));
            self.both(run, &ramp)?;
            let mut high = [0.0; 40];
            high[21] = 1000.0;
            self.both(run, &Stored::from_values(dtype, &[1, 40], high))?;
            // The lowest number. The padding of a vector must not be equal to it.
            let lowest = both_signs(dtype, &[infinity(dtype) - 1])[1];
            (1..10).try_for_each(|width| {
                let row = Stored::from_codes(dtype, &[1, width], vec![lowest; width]);
                self.both(run, &row)
            })
        });
        cases.add(dtype, "a_wide_row_may_hang_on_its_last_elements", move |run| {
            wide_rows(-30.0).zip((0..2).cycle()).try_for_each(|(row, offset)| {
                self.both(&mut run.at(offset), &Stored::from_values(dtype, &[1, row.len()], row))
            })
        });
        cases.add(dtype, "ones_in_their_thousands_share_alike", move |run| {
            self.both(run, &ones(dtype, &[5, 4099]))
        });
        cases.add(dtype, "minus_infinity_masks_an_element", move |run| {
            let masked = [0.0, f64::NEG_INFINITY, 1.0, 2.0, f64::NEG_INFINITY];
            self.forward(run, &Stored::from_values(dtype, &[1, 5], masked), &masked)?;
            (0..9).try_for_each(|at| {
                let mut masked = [1.0; 9];
                masked[at] = f64::NEG_INFINITY;
                self.forward(run, &Stored::from_values(dtype, &[1, 9], masked), &masked)
            })?;
            // One element is the lowest number, and all others are masked: it has the whole share, however wide the row.
            (1..10).chain([8201]).try_for_each(|width| {
                let [infinity, lowest] = [0, 1].map(|below| infinity(dtype) - below);
                let sign = both_signs(dtype, &[infinity, lowest]);
                let mut codes = vec![sign[1]; width];
                codes[0] = sign[3];
                let row = Stored::from_codes(dtype, &[1, width], codes);
                self.forward(run, &row, &values(&row))
            })
        });
        let sentence = "a_row_with_nan_or_infinity_or_nothing_is_nan_throughout";
        cases.add(dtype, sentence, move |run| {
            let (nan, up, down) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
            for bad in
                [[nan, 1.0, 2.0], [1.0, 2.0, nan], [1.0, up, 2.0], [up, down, 0.0], [down; 3]]
            {
                let all = [[0.0, 1.0, 2.0], bad, [2.0, 1.0, 0.0]].concat();
                let x = Stored::from_values(dtype, &[3, 3], all.clone());
                self.forward(run, &x, &all)?;
            }
            (1..10).chain([8201]).try_for_each(|width| {
                let masked = vec![down; width];
                let x = Stored::from_values(dtype, &[1, width], masked.clone());
                self.forward(run, &x, &masked)?;
                let g = uniform(3, dtype, &x.shape, [-1.0, 1.0]);
                let y = Stored::from_values(dtype, &x.shape, vec![nan; width]);
                let wanted = (self.gradient)(&values(&g), &values(&y), width);
                run.near(self.backward.clone(), &[&g, &y], [(dtype, wanted)])
            })
        });
    }

    /// Compares forward only, on these values as stored.
    fn forward(&self, run: &mut OpRun<'_>, x: &Stored, values: &[f64]) -> Verdict {
        run.near(self.forward.clone(), &[x], [(x.dtype, (self.output)(values, x.shape[1]))])
    }

    /// Compares forward, and backward from the oracle's result.
    fn both(&self, run: &mut OpRun<'_>, x: &Stored) -> Verdict {
        let width = x.shape.last().copied().unwrap_or(1);
        let y = (self.output)(&values(x), width);
        let rounded = Stored::from_values(x.dtype, &x.shape, y.iter().map(|y| y.value));
        run.near(self.forward.clone(), &[x], [(x.dtype, y)])?;
        let g = uniform(2, x.dtype, &x.shape, [-1.0, 1.0]);
        let wanted = (self.gradient)(&values(&g), &values(&rounded), width);
        run.near(self.backward.clone(), &[&g, &rounded], [(x.dtype, wanted)])
    }
}
