//! Conversions of whole slices between f32 and sixteen bits, on all threads.

use crate::parallel;
use binade_core::Element;

/// Widens, exactly.
pub(super) fn widen<E: Element>(from: &[E]) -> Vec<f32> {
    blocks(from, E::widen)
}

/// Rounds once, to nearest even.
pub(super) fn narrow<E: Element>(from: &[f32]) -> Vec<E> {
    blocks(from, E::narrow)
}

/// Converts block by block.
fn blocks<A: Sync, B: Copy + Default + Send>(from: &[A], convert: fn(&[A], &mut [B])) -> Vec<B> {
    let mut to = vec![B::default(); from.len()];
    parallel::blocks(&mut to, |first, block| convert(&from[first..first + block.len()], block));
    to
}
