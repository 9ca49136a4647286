//! The largest element of each window, by a loop over it.

use super::matmul::count;
use crate::Wanted;
use binade_ops::MaxPool2dConfig;

/// `[N, C, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down.
pub fn output([n, c, h, w]: [usize; 4], config: MaxPool2dConfig) -> [usize; 4] {
    let along = |axis: usize, extent: usize| {
        (extent + 2 * config.padding[axis] - config.kernel[axis]) / config.stride[axis] + 1
    };
    [n, c, along(0, h), along(1, w)]
}

/// The place of each window's largest element: the first in row-major order, and a NaN before any number.
pub fn largest(
    x: &[f64],
    shape @ [_, _, height, width]: [usize; 4],
    config: MaxPool2dConfig,
) -> Vec<usize> {
    let [n, c, rows, columns] = output(shape, config);
    let MaxPool2dConfig { kernel, stride, padding } = config;
    let inside = |start: usize, tap: usize, axis: usize, extent: usize| {
        (start * stride[axis] + tap).checked_sub(padding[axis]).filter(|at| *at < extent)
    };
    let window = |at: usize| {
        let (column, row, plane) = (at % columns, at / columns % rows, at / (columns * rows));
        let mut best: Option<usize> = None;
        for tap in 0..kernel[0] * kernel[1] {
            let y = inside(row, tap / kernel[1], 0, height);
            let Some((y, x_at)) = y.zip(inside(column, tap % kernel[1], 1, width)) else {
                continue;
            };
            let pixel = (plane * height + y) * width + x_at;
            let wins = |best: usize| !x[best].is_nan() && (x[pixel].is_nan() || x[pixel] > x[best]);
            if best.is_none_or(wins) {
                best = Some(pixel);
            }
        }
        best.unwrap_or_default()
    };
    (0..n * c * rows * columns).map(window).collect()
}

/// The input's gradient: at each element, the sum over the windows whose largest it is.
pub fn backward(grad: &[f64], largest: &[usize], length: usize) -> Vec<Wanted> {
    let mut sums = vec![[0.0_f64; 3]; length];
    for (g, &at) in grad.iter().zip(largest) {
        let [value, mass, terms] = sums[at];
        sums[at] = [value + g, mass + g.abs(), terms + 1.0];
    }
    // One term is itself, exactly; more are rounded once for each but the first.
    let spare = |terms: f64| if terms > count(1) { terms } else { 0.0 };
    sums.into_iter()
        .map(|[value, mass, terms]| Wanted { mass: spare(terms) * mass, ..Wanted::exactly(value) })
        .collect()
}
