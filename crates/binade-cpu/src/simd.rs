//! Loops compiled a second time, for processors with 256-bit vectors and fused multiply-add.
//!
//! `mul_add` is one instruction there. Elsewhere it is a call into the C library for each element, about ten times slower, with
//! the same result: nothing here changes a bit.
#![allow(unsafe_code, reason = "calling a function compiled for a feature that was just detected")]

use binade_core::Element;

/// Loop over elements, with its operands.
///
/// A function is compiled for the processor's features only if it is inlined into [`with_avx2_and_fma`]. A closure is inlined as
/// the optimizer likes, which in a user's build was not at all. So `run` is `#[inline(always)]`, and so is each function that it
/// calls for every element. `tests/release_build` checks the resulting instructions.
pub(crate) trait Loop {
    /// Result of the loop.
    type Output;

    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs `work` as compiled for the features of this processor.
#[inline(always)]
pub(crate) fn widest<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("f16c")
    {
        // SAFETY: the one obligation of a `target_feature` function is that the processor has the features it was
        // compiled for; all were detected on the lines above.
        return unsafe { with_avx2_and_fma(work) };
    }
    work.run()
}

/// Runs `work`, with the conversions of `half` inlined too, whose functions are compiled for `f16c`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn with_avx2_and_fma<L: Loop>(work: L) -> L::Output {
    work.run()
}

/// Widens as many elements as both slices have, exactly.
pub(crate) fn widen<E: Element>(from: &[E], to: &mut [f32]) {
    widest(Widen { from, to });
}

/// Rounds as many elements as both slices have, each once, to nearest even.
pub(crate) fn narrow<E: Element>(from: &[f32], to: &mut [E]) {
    widest(Narrow { from, to });
}

struct Widen<'a, E> {
    from: &'a [E],
    to: &'a mut [f32],
}

impl<E: Element> Loop for Widen<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        E::widen(self.from, self.to);
    }
}

struct Narrow<'a, E> {
    from: &'a [f32],
    to: &'a mut [E],
}

impl<E: Element> Loop for Narrow<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        E::narrow(self.from, self.to);
    }
}

#[cfg(test)]
mod tests {
    use super::{narrow, widen};
    use binade_core::Element;
    use half::{bf16, f16};

    /// Asserts that conversions of slices have the bits of those of elements: over all values of a 16-bit type, and over f32 beside its
    /// numbers and halfway between them, with any start and odd lengths.
    fn check<E: Element>(from_bits: fn(u16) -> E, to_bits: fn(E) -> u16) {
        let all: Vec<E> = (0..=u16::MAX).map(from_bits).collect();
        let beside =
            |x: f32| [-1, 0, 1].map(|by| f32::from_bits(x.to_bits().wrapping_add_signed(by)));
        let halfway = |pair: &[E]| beside(f32::midpoint(pair[0].to_f32(), pair[1].to_f32()));
        let mut near: Vec<f32> = all.iter().flat_map(|x| beside(x.to_f32())).collect();
        near.extend(all.windows(2).flat_map(halfway));
        for start in 0..9 {
            for len in [all.len() - start, 1, 7, 15, 17, 31, 33, 63, 257] {
                let from = &all[start..start + len];
                let mut wide = vec![0.0; len];
                widen(from, &mut wide);
                let same = |(x, wide): (&E, &f32)| x.to_f32().to_bits() == wide.to_bits();
                assert!(from.iter().zip(&wide).all(same), "{start}, {len}");
            }
            for len in [near.len() - start, 1, 7, 15, 17, 31, 33, 63, 257] {
                let from = &near[start..start + len];
                let mut low = vec![from_bits(0); len];
                narrow(from, &mut low);
                let same = |(x, low): (&f32, &E)| to_bits(E::from_f32(*x)) == to_bits(*low);
                assert!(from.iter().zip(&low).all(same), "{start}, {len}");
            }
        }
    }

    #[test]
    fn slices_are_converted_as_elements_are() {
        check(f16::from_bits, f16::to_bits);
        check(bf16::from_bits, bf16::to_bits);
    }
}
