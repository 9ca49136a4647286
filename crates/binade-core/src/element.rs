//! Storage types of host slices.

use crate::DType;
use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
}

/// Element type that host slices are stored in; arithmetic happens in `f32`.
///
/// The trait is sealed: backends have kernels for a fixed set of types.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static
{
    /// Element type at run time.
    const DTYPE: DType;

    /// Widens the element, exactly.
    fn to_f32(self) -> f32;

    /// Rounds `value` once, to nearest even.
    fn from_f32(value: f32) -> Self;

    /// Returns the element's bits, in the lower end of a word.
    fn to_code(self) -> u32;

    /// Returns the element of these bits, in the lower end of a word; the bits above are ignored.
    fn from_code(code: u32) -> Self;

    /// Returns the slice itself if it is `f32`, so that generic code need not copy it to compute with it.
    #[inline(always)]
    fn as_f32_mut(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }

    /// Widens as many elements as both slices have, exactly.
    #[inline(always)]
    fn widen(from: &[Self], to: &mut [f32]) {
        from.iter().zip(to).for_each(|(from, to)| *to = from.to_f32());
    }

    /// Rounds as many elements as both slices have, each once, to nearest even.
    #[inline(always)]
    fn narrow(from: &[f32], to: &mut [Self]) {
        from.iter().zip(to).for_each(|(from, to)| *to = Self::from_f32(*from));
    }
}

impl Element for bf16 {
    const DTYPE: DType = DType::BF16;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        Self::from_bits(nearest_bf16(value))
    }

    #[inline(always)]
    fn to_code(self) -> u32 {
        u32::from(self.to_bits())
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
    fn from_code(code: u32) -> Self {
        Self::from_bits(code as u16)
    }
}

/// Returns the result of `bf16::from_f32` without a branch, so that loops are vectorised: some five times faster.
///
/// The sum adds just under half of the last place, and one more if that place is odd. It carries into the last place exactly if
/// the nearest even value is the upper one.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the upper half is shifted down")]
fn nearest_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN is made quiet: its payload may be all in the bits that are dropped.
    let quiet = bits >> 16 | 0x40;
    (if x.is_nan() { quiet } else { rounded }) as u16
}

impl Element for f16 {
    const DTYPE: DType = DType::F16;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        widened_f16(self.to_bits())
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        Self::from_bits(nearest_f16(value))
    }

    #[inline(always)]
    fn to_code(self) -> u32 {
        u32::from(self.to_bits())
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
    fn from_code(code: u32) -> Self {
        Self::from_bits(code as u16)
    }
}

/// Exponent field of an `f32` of exponent `e`.
const fn exponent(e: i32) -> u32 {
    (127 + e).cast_unsigned() << 23
}

/// Returns the result of `f16::to_f32` without a branch, so that loops are vectorised.
#[inline(always)]
fn widened_f16(code: u16) -> f32 {
    let code = u32::from(code);
    let (sign, rest) = ((code & 0x8000) << 16, (code & 0x7fff) << 13);
    // Mantissas move by 13 places, and the bias of exponents from 15 to 127.
    let normal = rest + (exponent(0) - (15 << 23));
    // A subnormal has the exponent of the least normal number without its leading 1, which is added and subtracted again.
    let subnormal = f32::from_bits(rest + exponent(-14)) - f32::from_bits(exponent(-14));
    // A NaN is made quiet.
    let quiet = if rest > 0x0f80_0000 { 1 << 22 } else { 0 };
    let special = rest | exponent(128) | quiet;
    let magnitude = match rest {
        0x0f80_0000.. => special,
        0x0080_0000.. => normal,
        _ => subnormal.to_bits(),
    };
    f32::from_bits(sign | magnitude)
}

/// Returns the result of `f16::from_f32` without a branch, so that loops are vectorised.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each magnitude is below 2^15")]
fn nearest_f16(x: f32) -> u16 {
    let (sign, rest) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
    // As in `nearest_bf16`, with 13 dropped places. The carry may reach infinity.
    let normal = rest.wrapping_sub(exponent(-15)).wrapping_add(0xfff + (rest >> 13 & 1)) >> 13;
    // The last place of 1/2 is the least subnormal, so the sum is rounded like the result.
    let subnormal = (f32::from_bits(rest) + 0.5).to_bits() - exponent(-1);
    // A NaN is made quiet: its payload may be all in the bits that are dropped.
    let nan = 0x7e00 | (rest >> 13 & 0x3ff);
    let magnitude = if rest > exponent(128) {
        nan
    } else if rest >= exponent(16) {
        0x7c00
    } else if rest < exponent(-14) {
        subnormal
    } else {
        normal
    };
    (sign | magnitude) as u16
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn to_code(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_code(code: u32) -> Self {
        Self::from_bits(code)
    }

    #[inline(always)]
    fn as_f32_mut(slice: &mut [Self]) -> Option<&mut [f32]> {
        Some(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns patterns by a prime stride, so that every exponent and many low bits occur.
    fn patterns() -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(4099).map(f32::from_bits)
    }

    #[test]
    fn bf16_is_rounded_as_half_rounds_it() {
        let ties = [0x3f80_8000, 0x3f81_8000, 0x7f7f_8000, 0x0000_8000, 0x7f80_0001, 0xff80_0001];
        for x in patterns().chain(ties.map(f32::from_bits)) {
            let (ours, theirs) = (<bf16 as Element>::from_f32(x), bf16::from_f32(x));
            assert_eq!(ours.to_bits(), theirs.to_bits(), "{:08x}", x.to_bits());
        }
    }

    #[test]
    fn f16_is_widened_as_half_widens_it() {
        for code in 0..=u16::MAX {
            let (ours, theirs) = (widened_f16(code), f16::from_bits(code).to_f32());
            assert_eq!(ours.to_bits(), theirs.to_bits(), "{code:04x}");
        }
    }

    #[test]
    fn f16_is_rounded_as_half_rounds_it() {
        let near =
            |x: f32| (-2..=2).map(move |by| f32::from_bits(x.to_bits().wrapping_add_signed(by)));
        // All numbers of f16, and the ties between them: also those that round to infinity and to zero.
        let all = || (0..=u16::MAX).map(f16::from_bits);
        let between = |x: f16| {
            f32::midpoint(x.to_f32(), f16::from_bits(x.to_bits().wrapping_add(1)).to_f32())
        };
        let beside = all().flat_map(|x| near(x.to_f32()).chain(near(between(x))));
        let edges = [65_520.0, -65_520.0, f32::MIN_POSITIVE].into_iter().flat_map(near);
        for x in patterns().chain(beside).chain(edges) {
            assert_eq!(nearest_f16(x), f16::from_f32(x).to_bits(), "{:08x}", x.to_bits());
        }
    }

    #[test]
    fn an_element_comes_back_from_its_code() {
        for code in (0..=u16::MAX).map(u32::from) {
            assert_eq!(<bf16 as Element>::from_code(code).to_code(), code);
            assert_eq!(<f16 as Element>::from_code(code).to_code(), code);
        }
        for x in patterns() {
            assert_eq!(<f32 as Element>::from_code(x.to_code()).to_bits(), x.to_bits());
        }
    }

    #[test]
    fn f32_alone_is_lent_as_it_is() {
        assert_eq!(f32::as_f32_mut(&mut [1.5]), Some(&mut [1.5][..]));
        assert_eq!((bf16::as_f32_mut(&mut [bf16::ONE]), f16::as_f32_mut(&mut [])), (None, None));
    }

    #[test]
    fn slices_convert_as_their_elements_do() {
        fn check<E: Element>() {
            let values: Vec<f32> = patterns().filter(|x| !x.is_nan()).collect();
            let (mut narrow, mut wide) =
                (vec![E::default(); values.len()], vec![0.0; values.len()]);
            E::narrow(&values, &mut narrow);
            E::widen(&narrow, &mut wide);
            for ((x, low), back) in values.iter().zip(narrow).zip(wide) {
                assert_eq!(low, E::from_f32(*x), "{x:e}");
                assert_eq!(back.to_bits(), low.to_f32().to_bits(), "{x:e}");
            }
        }
        check::<bf16>();
        check::<f16>();
        check::<f32>();
    }
}
