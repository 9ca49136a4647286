//! The largest of each window: ties, NaN, overlap and padding.
//!
//! The oracle is a loop over each window.

use super::conv2d::{LAYOUTS, extents, laid_out, ordered, taps};
use super::prelude::*;
use crate::OpInvocation::{MaxPool2d, MaxPool2dBackward};
use binade_core::ops::{ImageLayout, MaxPool2dConfig};

/// Input, window, stride and padding.
type Size = ([usize; 4], [usize; 2], [usize; 2], [usize; 2]);

const SIZES: [Size; 13] = [
    ([1, 1, 1, 1], [1, 1], [1, 1], [0, 0]),
    ([1, 1, 4, 4], [2, 2], [2, 2], [0, 0]),
    ([2, 3, 5, 6], [3, 2], [1, 2], [1, 1]),
    ([1, 2, 8, 8], [2, 2], [1, 1], [0, 0]),
    ([2, 3, 9, 8], [2, 2], [2, 2], [0, 0]),
    ([1, 2, 8, 33], [3, 3], [2, 2], [1, 1]),
    ([3, 1, 7, 7], [3, 3], [1, 1], [0, 0]),
    ([1, 9, 3, 31], [1, 4], [1, 3], [0, 2]),
    ([2, 2, 5, 5], [2, 2], [3, 3], [0, 0]),
    ([0, 3, 4, 4], [2, 2], [2, 2], [0, 0]),
    ([2, 0, 4, 4], [2, 2], [2, 2], [0, 0]),
    ([2, 3, 7, 6], [1, 2], [3, 4], [0, 1]),
    ([2, 3, 7, 6], [2, 5], [usize::MAX, 2], [1, 2]),
];

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for (input, kernel, stride, padding) in SIZES {
            let window =
                format!("{}_stride_{}_padding_{}", name(&kernel), name(&stride), name(&padding));
            let sentence = format!("random_{}_by_{window}", name(&input));
            let config = MaxPool2dConfig { kernel, stride, padding, ..MaxPool2dConfig::square(1) };
            cases.add(dtype, sentence, move |run| {
                both(run, &uniform(1, dtype, &input, [-2.0, -1.0]), config)
            });
        }
        cases.starts(dtype, move |run, _, _| {
            let x = uniform(1, dtype, &[2, 3, 30, 24], [-2.0, 2.0]);
            both(run, &x, MaxPool2dConfig::square(2))
        });
        cases.add(dtype, "channels_last_are_channels_first_permuted", move |run| {
            let x = uniform(1, dtype, &[2, 3, 5, 6], [-2.0, -1.0]);
            let (kernel, stride, padding) = ([3, 2], [1, 2], [1, 1]);
            let layout = ImageLayout::ChannelsLast;
            both(run, &x, MaxPool2dConfig { kernel, stride, padding, layout })?;
            let equal = Stored::from_values(dtype, &[1, 2, 5, 5], vec![-1.0; 50]);
            both(run, &equal, MaxPool2dConfig { stride, layout, ..MaxPool2dConfig::square(3) })
        });
        cases.add(dtype, "of_equal_elements_the_first_takes_the_gradient", move |run| {
            for padding in [[0, 0], [1, 1]] {
                let stride = [2, 2];
                let config = MaxPool2dConfig { stride, padding, ..MaxPool2dConfig::square(3) };
                both(run, &Stored::from_values(dtype, &[1, 2, 5, 5], vec![-1.0; 50]), config)?;
            }
            Ok(())
        });
        cases.add(dtype, "a_nan_is_larger_than_everything_and_the_first_wins", move |run| {
            let (inf, nan) = (f64::INFINITY, f64::NAN);
            let row = [1.0, nan, inf, nan, nan, 6.0, -inf, -inf];
            let rows = row.into_iter().chain(row.into_iter().rev());
            let x = Stored::from_values(dtype, &[1, 2, 1, 8], rows);
            LAYOUTS.into_iter().try_for_each(|layout| {
                let kernel = [1, 2];
                both(run, &x, MaxPool2dConfig { kernel, layout, ..MaxPool2dConfig::square(1) })
            })
        });
        cases.add(dtype, "gradients_of_windows_that_overlap_add_up_in_f32", move |run| {
            // The middle element is the largest of all nine windows. No sixteen-bit format can add their gradients, 2048 and eight ones, step by
            // step.
            let config = MaxPool2dConfig { stride: [1, 1], ..MaxPool2dConfig::square(3) };
            let x = Stored::from_values(dtype, &[1, 1, 5, 5], [0.0; 25]).with(12, 1.0);
            let (inf, nan) = (f64::INFINITY, f64::NAN);
            for (first, others, sum) in
                [(2048.0, 1.0, 2056.0), (inf, -1000.0, inf), (nan, 1.0, nan)]
            {
                let g = Stored::from_values(dtype, &[1, 1, 3, 3], [others; 9]).with(0, first);
                let mut wanted = vec![0.0; 25];
                wanted[12] = sum;
                run.exact(MaxPool2dBackward { config }, &[&g, &x], [(dtype, wanted)])?;
            }
            Ok(())
        });
    }
    let pool = |kernel, stride, padding| {
        let config = MaxPool2dConfig { kernel, stride, padding, ..MaxPool2dConfig::square(1) };
        (MaxPool2d { config }, "1x1x4x4")
    };
    let sentence = "a_window_or_stride_of_zero_or_too_much_padding_is_an_invalid_argument";
    let outside =
        [pool([0, 2], [1, 1], [0, 0]), pool([2, 2], [1, 0], [0, 0]), pool([2, 2], [1, 1], [2, 0])];
    refusals(cases, sentence, ErrorKind::InvalidArgument, outside);
    let config = MaxPool2dConfig::square(2);
    mismatches(
        cases,
        [
            pool([5, 2], [1, 1], [0, 0]),
            (MaxPool2d { config }, "4x4"),
            (MaxPool2dBackward { config }, "1x1x4x4 1x1x4x4"),
        ],
    );
}

/// Forward by bits, and the gradient of random values, from images `[N, C, H, W]` in the configuration's layout.
fn both(run: &mut OpRun<'_>, x: &Stored, config: MaxPool2dConfig) -> Verdict {
    let shape = [x.shape[0], x.shape[1], x.shape[2], x.shape[3]];
    let elements = values(x);
    let places = largest(&elements, shape, config);
    let (order, pooled) = (config.layout, output(shape, config));
    let wanted = places.iter().map(|at| elements[*at]).collect();
    let x = &laid_out(x, order);
    run.exact(MaxPool2d { config }, &[x], [(x.dtype, ordered(wanted, pooled, order))])?;
    let g = uniform(2, x.dtype, &pooled, [-1.0, 1.0]);
    let wanted = ordered(backward(&values(&g), &places, x.len()), shape, order);
    run.near(MaxPool2dBackward { config }, &[&laid_out(&g, order), x], [(x.dtype, wanted)])
}

// The oracle.

/// `[N, C, H', W']`.
fn output([n, c, h, w]: [usize; 4], config: MaxPool2dConfig) -> [usize; 4] {
    let MaxPool2dConfig { kernel, stride, padding, .. } = config;
    let [rows, columns] = extents([h, w], kernel, [stride, padding]);
    [n, c, rows, columns]
}

/// Returns the index of each window's largest element: the first in row-major order, where a NaN exceeds any number.
fn largest(x: &[f64], [n, c, h, w]: [usize; 4], config: MaxPool2dConfig) -> Vec<usize> {
    let MaxPool2dConfig { kernel, stride, padding, .. } = config;
    let wins = |best: usize, at: usize| !x[best].is_nan() && (x[at].is_nan() || x[at] > x[best]);
    let larger = |best, at| if wins(best, at) { at } else { best };
    let taps = taps([n * c, 1, h, w], kernel, [stride, padding, [1, 1]]);
    let windows = taps.chunks(kernel.iter().product());
    windows.map(|taps| taps.iter().flatten().copied().reduce(larger).unwrap_or_default()).collect()
}

/// Returns the input's gradient: for each element, the sum over the windows in which it is the largest.
fn backward(grad: &[f64], largest: &[usize], length: usize) -> Vec<Expected> {
    let mut sums = vec![[0.0_f64; 3]; length];
    for (g, &at) in grad.iter().zip(largest) {
        let [value, mass, terms] = sums[at];
        sums[at] = [value + g, mass + g.abs(), terms + 1.0];
    }
    // A single term is exact; a sum has one rounding for each term after the first.
    let spare = |terms: f64| if terms > count(1) { terms } else { 0.0 };
    sums.into_iter()
        .map(|[value, mass, terms]| Expected {
            mass: spare(terms) * mass,
            ..Expected::exactly(value)
        })
        .collect()
}
