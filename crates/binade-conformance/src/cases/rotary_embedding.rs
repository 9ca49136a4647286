//! Rotary position embedding: each pair by its angle, forward and back.
//!
//! A result is two products and a sum: two roundings of each product's size.

use super::prelude::*;
use crate::OpInvocation::{RotaryEmbedding, RotaryEmbeddingBackward};

const SHAPES: &str =
    "1x2 3x4 5x6 2x5x16 2x3x7x64 65x34 3x2x2 2x33x48 1x130 0x3x4 3x0x4 2x3x0 2049x2";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                both(run, &uniform(1, dtype, &shape, [-2.0, 2.0]))
            });
        }
        cases.starts(dtype, move |run, seed, _| {
            both(run, &uniform(seed, dtype, &[2, 9, 16], [-2.0, 2.0]))
        });
        cases.add(dtype, "a_nan_stays_in_its_pair", move |run| {
            both(run, &uniform(1, dtype, &[3, 16], [-2.0, 2.0]).with(20, f64::NAN))
        });
        cases.add(dtype, "a_quarter_turn_changes_places", move |run| {
            let x = Stored::from_values(dtype, &[1, 4], [1.0, 2.0, 3.0, 4.0]);
            let tables = [[0.0, 1.0], [1.0, 0.0]];
            let [cos, sin] = tables.map(|table| Stored::from_values(DType::F32, &[1, 2], table));
            run.exact(RotaryEmbedding, &[&x, &cos, &sin], [(dtype, vec![-3.0, 2.0, 1.0, 4.0])])?;
            let back = [(dtype, vec![3.0, 2.0, -1.0, 4.0])];
            run.exact(RotaryEmbeddingBackward, &[&x, &cos, &sin], back)
        });
    }
    mismatches(
        cases,
        [
            (
                RotaryEmbedding,
                "3x3 3x1 3x1, 3x4 3x2 3x3, 3x4 2x2 2x2, 4 1x2 1x2, 3x4 f16:3x2 f16:3x2",
            ),
            (RotaryEmbeddingBackward, "3x4 3x4 3x4, f16:3x4 f16:3x2 3x2"),
        ],
    );
}

fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let [.., rows, width] = x.shape[..] else { unreachable!("shapes have two axes") };
    let [cos, sin] = [(2, 0.0), (3, -1.0)]
        .map(|(seed, low)| uniform(seed, DType::F32, &[rows, width / 2], [low, 1.0]));
    let operands = [x, &cos, &sin];
    run.near(RotaryEmbedding, &operands, [(x.dtype, rotated(operands, 1.0))])?;
    run.near(RotaryEmbeddingBackward, &operands, [(x.dtype, rotated(operands, -1.0))])
}

// The oracle.

/// Each pair rotated, with sines times `direction`.
fn rotated([x, cos, sin]: [&Stored; 3], direction: f64) -> Vec<Expected> {
    let [rows, half] = cos.shape[..] else { unreachable!("tables have two axes") };
    let (x, cos, sin) = (values(x), values(cos), values(sin));
    let one = |at: usize| {
        let (line, column) = (at / (2 * half), at % (2 * half));
        let angle = line % rows * half + column % half;
        let partner = if column < half { at + half } else { at - half };
        let direction = if column < half { -direction } else { direction };
        let (own, other) = (x[at] * cos[angle], direction * x[partner] * sin[angle]);
        Expected::near(own + other, 2.0 * (own.abs() + other.abs()))
    };
    (0..x.len()).map(one).collect()
}
