//! Softmax: large rows, masked elements, rows that are NaN.

use super::FLOATS;
use super::ask::{Ask, Asks, Computes, ones, refusals, uniform, values};
use super::bias_add::name;
use super::values::offsets;
use crate::oracle::softmax::{backward, softmax};
use crate::{Check, Compute, Operation::Softmax, Stored, Verdict};
use binade_core::{DType, ErrorKind};

const SHAPES: [&[usize]; 14] = [
    &[1],
    &[7],
    &[3, 8],
    &[2, 9],
    &[9, 31],
    &[3, 32],
    &[5, 33],
    &[2, 255],
    &[3, 256],
    &[2, 257],
    &[2, 3, 5],
    &[2, 1025],
    &[0, 3],
    &[3, 0],
];

pub(super) fn add(suite: &mut Asks) {
    for dtype in FLOATS {
        for shape in SHAPES {
            suite.add(Softmax, dtype, format!("random_{}", name(shape)), move |s, check| {
                both(s, check, &uniform(1, dtype, shape, [-4.0, 4.0]), 0)
            });
        }
        rows(suite, dtype);
        suite.add(Softmax, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, _)| {
                both(s, check, &uniform(offset, dtype, &[3, 33], [-4.0, 4.0]), offset)
            })
        });
    }
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let all = vec![
        (Compute::Softmax, vec![float(&[])]),
        (Compute::SoftmaxBackward, vec![float(&[2, 3]), float(&[3, 2])]),
        (Compute::SoftmaxBackward, vec![ones(DType::F16, &[2, 3]), float(&[2, 3])]),
    ];
    refusals(suite, Softmax, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Rows that go wrong.
fn rows(suite: &mut Asks, dtype: DType) {
    suite.add(Softmax, dtype, "no_finite_row_overflows", move |s, check| {
        for row in
            [[60000.0, 59904.0, 59000.0], [-60000.0, -59904.0, -60000.0], [60000.0, -60000.0, 0.0]]
        {
            both(s, check, &Stored::from_values(dtype, &[1, 3], row), 0)?;
        }
        let widest = Stored::from_values(dtype, &[1, 4], [88.0, 89.0, 90.0, 720.0]);
        both(s, check, &widest, 0)
    });
    suite.add(Softmax, dtype, "ones_in_their_thousands_share_alike", move |s, check| {
        both(s, check, &ones(dtype, &[2, 4099]), 0)
    });
    suite.add(Softmax, dtype, "minus_infinity_masks_an_element", move |s, check| {
        let masked = [0.0, f64::NEG_INFINITY, 1.0, 2.0, f64::NEG_INFINITY];
        let x = Stored::from_values(dtype, &[1, 5], masked);
        Ask::new(Compute::Softmax, &[&x]).near(s, check, [(dtype, softmax(&masked, 5))])
    });
    let sentence = "a_row_with_nan_or_infinity_or_nothing_is_nan_throughout";
    suite.add(Softmax, dtype, sentence, move |s, check| {
        let (nan, up, down) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
        for bad in [[nan, 1.0, 2.0], [1.0, 2.0, nan], [1.0, up, 2.0], [up, down, 0.0], [down; 3]] {
            let all = [[0.0, 1.0, 2.0], bad, [2.0, 1.0, 0.0]].concat();
            let x = Stored::from_values(dtype, &[3, 3], all.clone());
            Ask::new(Compute::Softmax, &[&x]).near(s, check, [(dtype, softmax(&all, 3))])?;
        }
        Ok(())
    });
}

/// Forward, and backward from what the oracle says forward gave.
fn both(s: &dyn Computes, check: &mut Check, x: &Stored, offset: usize) -> Verdict {
    let width = x.shape.last().copied().unwrap_or(1);
    let y = softmax(&values(x), width);
    let rounded = Stored::from_values(x.dtype, &x.shape, y.iter().map(|y| y.value));
    Ask::new(Compute::Softmax, &[x]).at(offset).near(s, check, [(x.dtype, y)])?;
    let g = uniform(2, x.dtype, &x.shape, [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&rounded), width);
    Ask::new(Compute::SoftmaxBackward, &[&g, &rounded]).at(offset).near(
        s,
        check,
        [(x.dtype, wanted)],
    )
}
