//! Loops compiled again for processors with 256-bit vectors and fused multiply-add, and for those with AVX-512.
//!
//! `mul_add` is one instruction there. Elsewhere it is a call into the C library for each element, about ten times slower, with
//! the same result: nothing here changes a bit.
#![allow(unsafe_code, reason = "calling a function compiled for a feature that was just detected")]

#[cfg(target_arch = "x86_64")]
use binade_core::DType;
use binade_core::Element;
#[cfg(target_arch = "x86_64")]
use half::f16;
#[cfg(target_arch = "x86_64")]
use std::arch::{is_x86_feature_detected as has, x86_64 as intrinsics};
#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

/// Loop over elements, with its operands.
///
/// A function is compiled for the processor's features only if it is inlined into [`with_avx2_and_fma`]. The optimizer may not inline a closure, as
/// happened in a user's build. So `run` is `#[inline(always)]`, and so is each function that it calls for every element. `tests/release_build` checks
/// the resulting instructions.
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
    match Features::detected() {
        // SAFETY: a `target_feature` function only requires that the processor has the features it was compiled for, which were detected.
        Features::Avx512 => return unsafe { with_avx512(work) },
        // SAFETY: as above.
        Features::Avx2 => return unsafe { with_avx2_and_fma(work) },
        Features::Fewer => {}
    }
    work.run()
}

/// Features of a processor that loops are compiled for.
#[cfg(target_arch = "x86_64")]
#[derive(PartialEq)]
enum Features {
    Avx512,
    /// AVX2, FMA and F16C.
    Avx2,
    Fewer,
}

#[cfg(target_arch = "x86_64")]
impl Features {
    #[inline(always)]
    fn detected() -> Self {
        if !(has!("fma") && has!("avx2") && has!("f16c")) {
            Self::Fewer
        } else if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            Self::Avx512
        } else {
            Self::Avx2
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn with_avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn with_avx2_and_fma<L: Loop>(work: L) -> L::Output {
    work.run()
}

/// Number of elements that are widened in registers at once.
pub(crate) const WIDTH: usize = 16;

/// Loop over stored elements that widens them in registers. As for [`Loop`], `run` is `#[inline(always)]`.
pub(crate) trait WideningLoop<E> {
    /// Result of the loop.
    type Output;

    /// Runs the loop; `W` widens elements.
    fn run<W: Widening<E>>(self) -> Self::Output;
}

/// Instructions for which a loop is compiled.
pub(crate) trait Widening<E> {
    /// True if `mul_add` is one instruction.
    const HAS_FMA: bool;

    /// Widens the elements, exactly.
    fn widened(from: &[E; WIDTH]) -> [f32; WIDTH];
}

/// Runs `work` as compiled for the features of this processor.
#[inline(always)]
pub(crate) fn widest_widening<E: Element, L: WideningLoop<E>>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if Features::detected() != Features::Fewer {
        return widest(By::<Vectors, _, E>(work, PhantomData));
    }
    work.run::<Portable>()
}

/// Loop that is compiled for the instructions `W`.
#[cfg(target_arch = "x86_64")]
struct By<W, L, E>(L, PhantomData<(W, E)>);

#[cfg(target_arch = "x86_64")]
impl<E, W: Widening<E>, L: WideningLoop<E>> Loop for By<W, L, E> {
    type Output = L::Output;

    #[inline(always)]
    fn run(self) -> L::Output {
        self.0.run::<W>()
    }
}

/// Instructions that every processor has.
struct Portable;

impl<E: Element> Widening<E> for Portable {
    const HAS_FMA: bool = false;

    #[inline(always)]
    fn widened(from: &[E; WIDTH]) -> [f32; WIDTH] {
        from.map(E::to_f32)
    }
}

/// Instructions of [`Features::Avx2`] and above. Only [`widest_widening`] names it, after it has detected the features.
#[cfg(target_arch = "x86_64")]
struct Vectors;

#[cfg(target_arch = "x86_64")]
impl<E: Element> Widening<E> for Vectors {
    const HAS_FMA: bool = true;

    #[inline(always)]
    fn widened(from: &[E; WIDTH]) -> [f32; WIDTH] {
        if E::DTYPE != DType::F16 {
            return from.map(E::to_f32);
        }
        let mut wide = [0.0; WIDTH];
        let (low, high) = (from.as_ptr().cast(), from[WIDTH / 2..].as_ptr().cast());
        let to = wide.as_mut_ptr();
        // SAFETY: the features were detected. The elements are f16, and each access is to eight of sixteen.
        unsafe {
            let [low, high] = [intrinsics::_mm_loadu_si128(low), intrinsics::_mm_loadu_si128(high)];
            intrinsics::_mm256_storeu_ps(to, intrinsics::_mm256_cvtph_ps(low));
            intrinsics::_mm256_storeu_ps(to.add(WIDTH / 2), intrinsics::_mm256_cvtph_ps(high));
        }
        wide
    }
}

/// Widens as many elements as both slices have, exactly.
pub(crate) fn widen<E: Element>(from: &[E], to: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if E::DTYPE == DType::F16 && has!("avx") && has!("f16c") {
        // SAFETY: the trait is sealed, and this type is f16 itself.
        let from = unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) };
        // SAFETY: the features were detected.
        return unsafe { widen_f16(from, to) };
    }
    widest(Widen { from, to });
}

/// Rounds as many elements as both slices have, each once, to nearest even.
pub(crate) fn narrow<E: Element>(from: &[f32], to: &mut [E]) {
    #[cfg(target_arch = "x86_64")]
    if E::DTYPE == DType::F16 && has!("avx") && has!("f16c") {
        // SAFETY: the trait is sealed, and this type is f16 itself.
        let to = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) };
        // SAFETY: the features were detected.
        return unsafe { narrow_f16(from, to) };
    }
    widest(Narrow { from, to });
}

/// Widens f16 eight at a time. The functions of `half` are not inlined into a loop.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn widen_f16(from: &[f16], to: &mut [f32]) {
    let len = from.len().min(to.len());
    let ((from, rest), (to, last)) = (from[..len].as_chunks::<8>(), to[..len].as_chunks_mut::<8>());
    for (from, to) in from.iter().zip(&mut *to) {
        // SAFETY: both arrays have eight elements, and neither access needs alignment.
        unsafe {
            let low = intrinsics::_mm_loadu_si128(from.as_ptr().cast());
            intrinsics::_mm256_storeu_ps(to.as_mut_ptr(), intrinsics::_mm256_cvtph_ps(low));
        }
    }
    rest.iter().zip(last).for_each(|(from, to)| *to = from.to_f32());
}

/// Rounds to f16 eight at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn narrow_f16(from: &[f32], to: &mut [f16]) {
    let len = from.len().min(to.len());
    let ((from, rest), (to, last)) = (from[..len].as_chunks::<8>(), to[..len].as_chunks_mut::<8>());
    for (from, to) in from.iter().zip(&mut *to) {
        // SAFETY: both arrays have eight elements, and neither access needs alignment.
        unsafe {
            let wide = intrinsics::_mm256_loadu_ps(from.as_ptr());
            let low =
                intrinsics::_mm256_cvtps_ph::<{ intrinsics::_MM_FROUND_TO_NEAREST_INT }>(wide);
            intrinsics::_mm_storeu_si128(to.as_mut_ptr().cast(), low);
        }
    }
    rest.iter().zip(last).for_each(|(from, to)| *to = f16::from_f32(*from));
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
    use super::{WIDTH, Widening, WideningLoop, narrow, widen, widest_widening};
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
                widen(&all[start..], &mut wide);
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

    /// Loop that returns the bits of its elements, widened.
    struct Bits<'a, E>(&'a [E]);

    impl<E: Element> WideningLoop<E> for Bits<'_, E> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<W: Widening<E>>(self) -> Vec<u32> {
            self.0
                .as_chunks()
                .0
                .iter()
                .flat_map(|round| W::widened(round).map(f32::to_bits))
                .collect()
        }
    }

    #[test]
    fn registers_are_widened_as_elements_are() {
        fn check<E: Element>(from_bits: fn(u16) -> E) {
            let all: Vec<E> = (0..=u16::MAX).map(from_bits).collect();
            for start in 0..WIDTH {
                let widened = widest_widening(Bits(&all[start..]));
                let same = |(x, bits): (&E, &u32)| x.to_f32().to_bits() == *bits;
                assert!(all[start..].iter().zip(&widened).all(same), "{start}");
                assert!(widened.len() > all.len() - 2 * WIDTH);
            }
        }
        check(f16::from_bits);
        check(bf16::from_bits);
    }
}
