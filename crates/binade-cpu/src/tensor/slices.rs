//! Conversions of whole slices between f32 and sixteen bits.

use crate::parallel;
use half::{bf16, f16, slice::HalfFloatSliceExt};

/// Widens, exactly.
pub(super) fn widen_bf16(from: &[bf16]) -> Vec<f32> {
    blocks(from, |from, to| {
        for (from, to) in from.iter().zip(to) {
            *to = f32::from_bits(u32::from(from.to_bits()) << 16);
        }
    })
}

/// Rounds once, to nearest even.
pub(super) fn narrow_bf16(from: &[f32]) -> Vec<bf16> {
    blocks(from, |from, to| {
        for (from, to) in from.iter().zip(to) {
            *to = bf16::from_bits(nearest_bf16(*from));
        }
    })
}

/// Widens, exactly.
pub(super) fn widen_f16(from: &[f16]) -> Vec<f32> {
    blocks(from, HalfFloatSliceExt::convert_to_f32_slice)
}

/// Rounds once, to nearest even.
pub(super) fn narrow_f16(from: &[f32]) -> Vec<f16> {
    blocks(from, |from, to| to.convert_from_f32_slice(from))
}

/// What `bf16::from_f32` gives, without a branch, so that loops are vectorised.
///
/// Adding just under half of the last place, and one more where that place is odd, carries into it exactly where the
/// nearest even value is the upper one.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the upper half is shifted down")]
fn nearest_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN is made quiet: its payload may be all in the bits that go.
    let quiet = bits >> 16 | 0x40;
    (if x.is_nan() { quiet } else { rounded }) as u16
}

/// Converts block by block.
fn blocks<A: Sync, B: Copy + Default + Send>(from: &[A], convert: fn(&[A], &mut [B])) -> Vec<B> {
    let mut to = vec![B::default(); from.len()];
    parallel::blocks(&mut to, |first, block| convert(&from[first..first + block.len()], block));
    to
}
