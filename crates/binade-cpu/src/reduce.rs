//! Sums, accumulated in f64 in an order that depends only on shapes.
//!
//! f64 holds the exact sum of 2^29 f32 values of like magnitude, so the rounding to f32 is the only one.

use crate::parallel;
use std::ops::Range;

/// Number of independent partial sums, so that additions need not wait for each other.
const LANES: usize = 8;

/// Sums `f` of each element, on the calling thread.
#[inline]
pub(crate) fn run(values: &[f32], f: impl Fn(f32) -> f64) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += f(*x);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| f(*x)).sum::<f64>()
}

/// Sums `f` of each pair of elements, on the calling thread.
#[inline]
pub(crate) fn run2(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f64) -> f64 {
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += f(*x, *y);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(x, y)| f(*x, *y));
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

/// Sums the results of `f` for each block of `0..count`.
pub(crate) fn blocks(count: usize, f: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    parallel::partials(count, 1, f).into_iter().sum()
}

/// Sums all elements.
pub(crate) fn sum(values: &[f32]) -> f64 {
    blocks(values.len(), |block| run(&values[block], f64::from))
}

/// Rounds a sum, once.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
#[inline(always)]
pub(crate) fn round(sum: f64) -> f32 {
    sum as f32
}

/// Returns a count as a divisor: exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "no tensor has 2^53 elements")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

/// Tensor seen by its channels: [outer, channels, inner].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    pub(crate) outer: usize,
    pub(crate) count: usize,
    pub(crate) inner: usize,
}

impl Channels {
    /// Describes `shape` with `axis` as the channels.
    pub(crate) fn of(shape: &[usize], axis: usize) -> Self {
        Self {
            outer: shape[..axis].iter().product(),
            count: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns the number of elements of all channels at one place of the outer axes.
    pub(crate) fn row(self) -> usize {
        self.count * self.inner
    }

    /// Returns the number of elements of each channel.
    pub(crate) fn samples(self) -> usize {
        self.outer * self.inner
    }

    /// Sums, for each channel, the results of `f(channel, run)` for each run of neighbouring elements of the channel.
    pub(crate) fn sums<const N: usize>(
        self,
        f: impl Fn(usize, Range<usize>) -> [f64; N] + Sync,
    ) -> Vec<[f64; N]> {
        let partials = parallel::partials(self.outer, self.row(), |rows| {
            let mut sums = vec![[0.0; N]; self.count];
            for row in rows {
                for (c, sum) in sums.iter_mut().enumerate() {
                    let start = (row * self.count + c) * self.inner;
                    add(sum, &f(c, start..start + self.inner));
                }
            }
            sums
        });
        total(&partials, self.count)
    }
}

/// Sums each column of a row-major matrix.
pub(crate) fn columns(values: &[f32], width: usize) -> Vec<f32> {
    if width == 0 {
        return Vec::new();
    }
    let partials = parallel::partials(values.len() / width, width, |rows| {
        let mut sums = vec![[0.0]; width];
        for row in values[rows.start * width..rows.end * width].chunks_exact(width) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| sum[0] += f64::from(*x));
        }
        sums
    });
    total(&partials, width).into_iter().map(|[sum]| round(sum)).collect()
}

/// Sums each channel's elements, which is a bias's gradient.
pub(crate) fn channels(values: &[f32], of: Channels) -> Vec<f32> {
    if of.inner == 1 {
        return columns(values, of.count);
    }
    let sums = of.sums(|_, block| [run(&values[block], f64::from)]);
    sums.into_iter().map(|[sum]| round(sum)).collect()
}

/// Adds up the blocks' sums, in order.
pub(crate) fn total<const N: usize>(partials: &[Vec<[f64; N]>], width: usize) -> Vec<[f64; N]> {
    let mut total = vec![[0.0; N]; width];
    for partial in partials {
        total.iter_mut().zip(partial).for_each(|(sum, part)| add(sum, part));
    }
    total
}

fn add<const N: usize>(sum: &mut [f64; N], part: &[f64; N]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}
