//! The toy's convolution and pooling, window by window.

use crate::toy::{Elements, Plain};
use binade_ops::{Conv2dConfig, MaxPool2dConfig, shape};

/// Where a tap lies along an axis, unless in the padding.
fn inside(
    window: usize,
    tap: usize,
    stride: usize,
    padding: usize,
    extent: usize,
) -> Option<usize> {
    (window * stride + tap).checked_sub(padding).filter(|at| *at < extent)
}

/// Calls `visit(result, pixel, weight)` for each product; `turn` says which tap of the kernel is taken for which.
fn products(
    [x, w, y]: [&[usize]; 3],
    config: Conv2dConfig,
    turn: impl Fn([usize; 2]) -> [usize; 2],
    mut visit: impl FnMut(usize, usize, usize),
) {
    let Conv2dConfig { stride, padding } = config;
    for result in 0..y.iter().product() {
        let (column, row) = (result % y[3], result / y[3] % y[2]);
        let (o, image) = (result / (y[3] * y[2]) % y[1], result / (y[3] * y[2] * y[1]));
        for c in 0..x[1] {
            for (ky, kx) in (0..w[2]).flat_map(|ky| (0..w[3]).map(move |kx| (ky, kx))) {
                let above = inside(row, ky, stride[0], padding[0], x[2]);
                let Some((yy, xx)) = above.zip(inside(column, kx, stride[1], padding[1], x[3]))
                else {
                    continue;
                };
                let [ky, kx] = turn([ky, kx]);
                let pixel = ((image * x[1] + c) * x[2] + yy) * x[3] + xx;
                visit(result, pixel, ((o * w[1] + c) * w[2] + ky) * w[3] + kx);
            }
        }
    }
}

pub(crate) fn convolve(
    x: &Plain,
    w: &Plain,
    bias: Option<&Plain>,
    config: Conv2dConfig,
    turn: impl Fn([usize; 2]) -> [usize; 2],
) -> Plain {
    let y = shape::conv2d(x.shape(), w.shape(), None, config).unwrap_or_default();
    let bias = bias.map_or_else(|| vec![0.0; y[1]], Plain::read);
    let start = |at: usize| bias[at / (y[2] * y[3]) % y[1]];
    let mut sums: Vec<f32> = (0..y.iter().product()).map(start).collect();
    let (pixels, weights) = (x.read(), w.read());
    products([x.shape(), w.shape(), &y], config, turn, |result, pixel, tap| {
        sums[result] += pixels[pixel] * weights[tap];
    });
    Plain::write(&sums, x.dtype(), &y)
}

/// The places of each window, in row-major order.
fn windows(x: &[usize], config: MaxPool2dConfig) -> Vec<Vec<usize>> {
    let MaxPool2dConfig { kernel, stride, padding } = config;
    let y = shape::max_pool2d(x, config).unwrap_or_default();
    let window = |at: usize| {
        let (column, row, plane) = (at % y[3], at / y[3] % y[2], at / (y[3] * y[2]));
        let taps = (0..kernel[0]).flat_map(|ky| (0..kernel[1]).map(move |kx| (ky, kx)));
        let places = taps.filter_map(|(ky, kx)| {
            let above = inside(row, ky, stride[0], padding[0], x[2])?;
            let beside = inside(column, kx, stride[1], padding[1], x[3])?;
            Some((plane * x[2] + above) * x[3] + beside)
        });
        places.collect()
    };
    (0..y.iter().product()).map(window).collect()
}

/// The first place of the largest.
fn best(values: &[f32], places: &[usize]) -> usize {
    let mut best = places[0];
    for &at in places {
        if values[at] > values[best] || (values[at].is_nan() && !values[best].is_nan()) {
            best = at;
        }
    }
    best
}

pub(crate) fn pool(x: &Plain, config: MaxPool2dConfig) -> Plain {
    let values = x.read();
    let largest =
        windows(x.shape(), config).into_iter().map(|places| values[best(&values, &places)]);
    let y = shape::max_pool2d(x.shape(), config).unwrap_or_default();
    Plain::write(&largest.collect::<Vec<f32>>(), x.dtype(), &y)
}

/// Each window's gradient to the first of its largest; to every one of them, where `ties`, which is wrong.
pub(crate) fn pool_back(g: &Plain, x: &Plain, config: MaxPool2dConfig, ties: bool) -> Plain {
    let (values, grads) = (x.read(), g.read());
    let mut dx = vec![0.0; values.len()];
    for (places, g) in windows(x.shape(), config).into_iter().zip(grads) {
        let best = best(&values, &places);
        for at in places {
            if at == best || (ties && values[at].to_bits() == values[best].to_bits()) {
                dx[at] += g;
            }
        }
    }
    Plain::write(&dx, x.dtype(), x.shape())
}
