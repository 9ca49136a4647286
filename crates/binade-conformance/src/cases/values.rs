//! Values that arithmetic often gets wrong, and a generator for others.

use super::cast;
use crate::Layout;
use binade_core::DType;

/// A generator of test values, the same in every run (Steele, Lea and Flood, `SplitMix`, 2014).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: usize) -> Self {
        Self(seed as u64)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number uniform in [low, high).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept, which f64 holds")]
    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 * 2.0_f64.powi(-53))
    }

    /// Draws a number of either sign with a magnitude in 2^low..2^high; all binades are equally likely.
    pub(super) fn spread(&mut self, low: f64, high: f64) -> f64 {
        let magnitude = self.within(low, high).exp2();
        if self.bits().is_multiple_of(2) { magnitude } else { -magnitude }
    }

    /// Draws any code of `dtype`, NaN and infinity included.
    pub(super) fn code(&mut self, dtype: DType) -> u64 {
        self.bits() >> (64 - 8 * dtype.bytes())
    }
}

/// Returns `n` values that `dtype` represents exactly, with magnitudes in 2^low..2^high.
pub(super) fn finite(seed: usize, n: usize, dtype: DType, [low, high]: [f64; 2]) -> Vec<f64> {
    let mut draw = Draw::new(seed);
    (0..n).map(|_| cast::rounded(draw.spread(low, high), dtype)).collect()
}

/// Zeros, ones, and the edges of normal, subnormal and finite, of both signs.
pub(super) fn edges(dtype: DType) -> Vec<u64> {
    let (exponent, fraction) = fields(dtype);
    let one = ((1 << (exponent - 1)) - 1) << fraction;
    let normal = 1 << fraction;
    let largest = infinity(dtype) - 1;
    // A subnormal number with half as many bits as there can be.
    let short = (4 << (fraction * 14 / 23)) / 3;
    both_signs(dtype, &[0, 1, 2, 3, short, normal - 1, normal, normal + 1, one, one + 1, largest])
}

/// Quiet and signalling NaNs with the lowest, highest and mixed payloads, of both signs.
pub(super) fn nans(dtype: DType) -> Vec<u64> {
    let quiet = 1 << (fields(dtype).1 - 1);
    let payloads = [1, quiet - 1, quiet, quiet + 1, 2 * quiet - 1];
    both_signs(dtype, &payloads.map(|payload| infinity(dtype) + payload))
}

/// Both infinities.
pub(super) fn infinities(dtype: DType) -> Vec<u64> {
    both_signs(dtype, &[infinity(dtype)])
}

/// Returns codes that arithmetic often gets wrong: zeros, subnormals, the edges of normal and finite, infinities, and NaNs of each class, of both
/// signs.
pub(super) fn awkward(dtype: DType) -> Vec<u64> {
    [edges(dtype), infinities(dtype), nans(dtype)].concat()
}

/// Values that are not finite.
pub(super) const NON_FINITE: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// Codes that are not finite, of each class and sign.
pub(super) fn not_finite(dtype: DType) -> Vec<u64> {
    [infinities(dtype), nans(dtype)].concat()
}

/// Returns offsets of a tensor in its buffer, with its length: no vector load of two, four or eight elements is aligned at all of them.
pub(super) fn offsets() -> impl Iterator<Item = (usize, usize)> {
    [1, 2, 3, 4, 7].into_iter().zip([1, 8, 33, 2305, 4097])
}

/// Each code eight times, so that every lane of a vector meets it.
pub(super) fn in_every_lane(codes: Vec<u64>) -> Vec<u64> {
    codes.into_iter().flat_map(|code| [code; 8]).collect()
}

/// Returns rows wider than most devices keep in fast memory. All elements are `low`, except a last whole vector and a part of one, whose length
/// differs between rows.
pub(super) fn wide_rows(low: f64) -> impl Iterator<Item = Vec<f64>> {
    (1..8).map(move |part: i32| {
        let end = (0..8 + part).map(|i| f64::from(i * 5 % 11) / 4.0);
        std::iter::repeat_n(low, 8192).chain(end).collect()
    })
}

/// Returns offsets and lengths with which a tensor ends at the end of a buffer of a power of two bytes: nothing may be read past it.
fn ends() -> impl Iterator<Item = (usize, usize)> {
    (1..8).map(|offset| (offset, 256 - offset))
}

/// Returns two lists of layouts and lengths, each with a case's name: [`offsets`] and [`ends`], and layouts with gaps or with elements in another
/// order in memory.
pub(crate) fn layouts() -> [(&'static str, Vec<(Layout, usize)>); 2] {
    let starts = offsets().chain(ends()).map(|(offset, length)| (Layout::Offset(offset), length));
    let (transposed, strided) = (Layout::Transposed, Layout::Strided);
    let views = [
        (transposed, 6),
        (transposed, 35),
        (transposed, 4095),
        (strided(1), 33),
        (strided(2), 260),
    ];
    [(STARTS, starts.collect()), (VIEWS, views.into())]
}

/// Name of cases whose views begin at any offset.
pub(super) const STARTS: &str = "starts_anywhere_in_a_buffer";

/// Name of cases whose views are not contiguous.
pub(super) const VIEWS: &str = "views_are_read_in_row_major_order";

/// Parses shapes as case names write them, separated by spaces: `3x7 2x3x5`.
pub(super) fn shapes(list: &str) -> impl Iterator<Item = Vec<usize>> {
    sized::<1>(list).flatten()
}

/// Parses rows of `N` shapes each, separated by colons: `2x3:4 5x6:7`.
pub(super) fn sized<const N: usize>(list: &str) -> impl Iterator<Item = [Vec<usize>; N]> {
    let extents = |shape: &str| shape.split('x').filter_map(|extent| extent.parse().ok()).collect();
    list.split(' ')
        .filter_map(move |each| each.split(':').map(extents).collect::<Vec<_>>().try_into().ok())
}

/// Parses shapes of `N` axes each.
pub(super) fn sizes<const N: usize>(list: &str) -> impl Iterator<Item = [usize; N]> {
    shapes(list).filter_map(|shape| shape.try_into().ok())
}

/// Returns a shape as case names write it.
pub(super) fn name(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// Returns the step from one to the next number of `bf16` or `f16`.
pub(super) fn unit(dtype: DType) -> f64 {
    let (_, fraction) = fields(dtype);
    (0..fraction).fold(1.0, |unit, _| unit / 2.0)
}

/// Returns numbers of `bf16` or `f16`, and updates that take them halfway to the next number, or to the next `f32` on either side. The numbers are
/// even and odd. Each comes eight times in a row, so that every lane of a vector has it.
pub(super) fn halfway(dtype: DType) -> (Vec<f64>, Vec<f64>) {
    let (unit, next) = (unit(dtype), f64::from(f32::EPSILON));
    let (mut numbers, mut moves) = (Vec::new(), Vec::new());
    for sign in [1.0, -1.0] {
        for number in [1.0, 1.0 + unit] {
            for beside in [-next, 0.0, next] {
                numbers.extend([sign * number; 8]);
                moves.extend([sign * (unit / 2.0 + beside); 8]);
            }
        }
    }
    (numbers, moves)
}

/// The code of positive infinity.
pub(super) fn infinity(dtype: DType) -> u64 {
    let (exponent, fraction) = fields(dtype);
    ((1 << exponent) - 1) << fraction
}

/// These codes, each followed by its negative.
pub(super) fn both_signs(dtype: DType, codes: &[u64]) -> Vec<u64> {
    let sign = 1 << (8 * dtype.bytes() - 1);
    codes.iter().flat_map(|code| [*code, code | sign]).collect()
}

/// Bits of exponent and fraction.
fn fields(dtype: DType) -> (u32, u32) {
    match dtype {
        DType::BF16 => (8, 7),
        DType::F16 => (5, 10),
        DType::F32 => (8, 23),
        other => panic!("{other} has no edges here; take bf16, f16 or f32"),
    }
}

/// The last, the first and the middle index of a length, each once.
pub(super) fn places(length: usize) -> Vec<(&'static str, usize)> {
    let all = [("last", length.wrapping_sub(1)), ("first", 0), ("middle", length / 2)];
    let mut places: Vec<(&str, usize)> = Vec::new();
    for (name, index) in all.into_iter().filter(|(_, index)| *index < length) {
        if places.iter().all(|(_, taken)| *taken != index) {
            places.push((name, index));
        }
    }
    places
}
