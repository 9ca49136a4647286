//! Averages with a given number of rows and columns: whole planes, overlapping windows, and more windows than elements.
//!
//! The oracle is that of [`avg_pool2d`](super::avg_pool2d) over windows whose first and last elements follow from their number.

use super::avg_pool2d::{Window, backward, by_plane, means};
use super::prelude::*;
use crate::OpInvocation::{AdaptiveAvgPool2d, AdaptiveAvgPool2dBackward};
use binade_core::ops::ImageLayout;

/// Input, and rows and columns of the result.
const SIZES: &str = "1x1x1x1:1x1 2x3x7x7:1x1 2x3x8x9:3x4 1x2x5x5:7x6 2x1x1x1:2x3 2x3x6x6:6x6 1x2x33x31:5x7 \
    3x5x4x1:1x1 1x1x40x50:1x2 0x3x4x4:2x2 2x0x4x4:2x2 4x3x10x3:4x5";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [input, output] in sized(SIZES) {
            let sentence = format!("random_{}_to_{}", name(&input), name(&output));
            cases.add(dtype, sentence, move |run| {
                both(run, &uniform(1, dtype, &input, [-2.0, 1.0]), [output[0], output[1]])
            });
        }
        cases.starts(dtype, move |run, _, _| {
            both(run, &uniform(1, dtype, &[2, 3, 10, 8], [-2.0, 2.0]), [3, 5])
        });
        cases.add(dtype, "neighbouring_windows_share_an_element", move |run| {
            let x = Stored::from_values(dtype, &[1, 1, 1, 5], [1.0, 2.0, 6.0, 10.0, 11.0]);
            let op = AdaptiveAvgPool2d { output: [1, 2] };
            run.exact(op, &[&x], [(dtype, vec![3.0, 9.0])])?;
            let g = Stored::from_values(dtype, &[1, 1, 1, 2], [3.0, 6.0]);
            let op = AdaptiveAvgPool2dBackward { shape: x.shape.clone() };
            run.exact(op, &[&g], [(dtype, vec![1.0, 1.0, 3.0, 2.0, 2.0])])
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_windows", move |run| {
            NON_FINITE
                .into_iter()
                .try_for_each(|bad| both(run, &ones(dtype, &[1, 2, 5, 4]).with(9, bad), [3, 2]))
        });
    }
    let sentence = "an_output_without_rows_or_columns_is_an_invalid_argument";
    let none = [[0, 1], [1, 0]].map(|output| (AdaptiveAvgPool2d { output }, "1x1x4x4"));
    refusals(cases, sentence, ErrorKind::InvalidArgument, none);
    let pool = AdaptiveAvgPool2d { output: [2, 2] };
    let back = AdaptiveAvgPool2dBackward { shape: vec![1, 2, 4, 4] };
    mismatches(cases, [(pool, "4x4, 1x1x0x4, i64:1x1x4x4"), (back, "1x1x2x2, 2x2x2x2, 1x2x2")]);
    let huge = AdaptiveAvgPool2d { output: [HUGE, HUGE] };
    too_large(cases, [(huge, "1x1x2x2")]);
}

/// Forward and backward on random gradients.
fn both(run: &mut OpRun<'_>, x: &Stored, output: [usize; 2]) -> Verdict {
    let windows = windows_of(x, output);
    let forward = AdaptiveAvgPool2d { output };
    run.near(forward, &[x], [(x.dtype, means(&values(x), &windows))])?;
    let g = uniform(2, x.dtype, &[x.shape[0], x.shape[1], output[0], output[1]], [-1.0, 1.0]);
    let order = ImageLayout::ChannelsFirst;
    backward(run, &g, &x.shape, &windows, order, |shape| AdaptiveAvgPool2dBackward { shape })
}

// The oracle.

/// Returns each window of the images: from `⌊i·H / H'⌋` up to, but without, `⌈(i + 1)·H / H'⌉`.
fn windows_of(x: &Stored, output: [usize; 2]) -> Vec<Window> {
    let range = |i: usize, axis: usize| {
        let (all, of) = (x.shape[axis + 2], output[axis]);
        i * all / of..((i + 1) * all).div_ceil(of)
    };
    let window = |row: usize, column: usize| {
        let line = |y: usize| range(column, 1).map(move |at| y * x.shape[3] + at);
        let inside: Vec<usize> = range(row, 0).flat_map(line).collect();
        let elements = count(inside.len());
        (inside, elements)
    };
    by_plane(&x.shape, &[x.shape[0], x.shape[1], output[0], output[1]], window)
}
