//! How far a result of the device may lie from the CPU's.

use crate::support::{Result, cuda};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_cuda::Tensor;
use binade_ops::Download;

/// How far results may lie apart. Any NaN is any NaN.
#[derive(Clone, Copy)]
pub(crate) enum Within {
    /// Not at all: the zeros differ.
    Bits,
    /// In f32 by so many codes, in 16 bits by the next code.
    Codes(u64),
    /// By so much, whatever the value; a narrower result by one unit of its own as well, since what lies near the middle between
    /// two may be rounded either way.
    Apart(f32),
    /// By this many units of f32 of the value, or of this where the value is smaller; narrower results as above.
    Units(f32, f32),
}

impl Within {
    /// The most codes between the two; `None` where it is no count of codes.
    fn codes(self, dtype: DType) -> Option<u64> {
        match self {
            Self::Bits => Some(0),
            Self::Codes(most) => Some(if dtype == DType::F32 { most } else { most.min(1) }),
            Self::Apart(_) | Self::Units(..) => None,
        }
    }

    /// The most between the two as numbers.
    fn bound(self, dtype: DType, want: f32) -> f32 {
        // Of the type itself: its epsilon, and what its subnormal numbers are multiples of.
        let own = match dtype {
            DType::BF16 => want.abs() * 2.0_f32.powi(-7),
            DType::F16 => (want.abs() * 2.0_f32.powi(-10)).max(2.0_f32.powi(-24)),
            _ => 0.0,
        };
        match self {
            Self::Bits | Self::Codes(_) => 0.0,
            Self::Apart(most) => most + own,
            Self::Units(units, least) => units * f32::EPSILON * want.abs().max(least) + own,
        }
    }
}

/// Holds a result to the CPU's, in type, shape and every element; infinities and NaN are met exactly.
pub(crate) fn assert_agrees(
    got: &Tensor,
    want: &binade_cpu::Tensor,
    within: Within,
    what: &str,
) -> Result {
    assert_eq!((got.dtype(), got.shape()), (want.dtype(), want.shape()), "{what}");
    match within.codes(got.dtype()) {
        Some(most) => assert_codes(got, want, most, what),
        None => assert_near(got, want, within, what),
    }
}

fn assert_codes(got: &Tensor, want: &binade_cpu::Tensor, most: u64, what: &str) -> Result {
    let [here, there] = [cuda().to_bits(got)?, want.to_bits()];
    assert_eq!(here.len(), there.len(), "{what}");
    let pairs = places(&here, got.dtype()).into_iter().zip(places(&there, want.dtype()));
    for (index, (got, want)) in pairs.enumerate() {
        let apart = match (got, want) {
            (Some(got), Some(want)) => got.abs_diff(want),
            (None, None) => 0,
            _ => u64::MAX,
        };
        assert!(apart <= most, "{what}: {got:?} for {want:?} at {index}");
    }
    Ok(())
}

fn assert_near(got: &Tensor, want: &binade_cpu::Tensor, within: Within, what: &str) -> Result {
    let dtype = got.dtype();
    let [here, there] = [cuda().download(got)?, Cpu.download(want)?];
    assert_eq!(here.len(), there.len(), "{what}");
    for (index, (got, want)) in here.into_iter().zip(there).enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        let near = want.is_finite() && (got - want).abs() <= within.bound(dtype, want);
        assert!(same || near, "{what}: {got:e} for {want:e} at {index}");
    }
    Ok(())
}

/// Of each element its place among the numbers of its type; `None` for NaN. The zeros differ, and infinity is nobody's
/// neighbour.
fn places(bytes: &[u8], dtype: DType) -> Vec<Option<i64>> {
    let (sign, infinite) = match dtype {
        DType::BF16 => (0x8000, 0x7f80),
        DType::F16 => (0x8000, 0x7c00),
        _ => (0x8000_0000_i64, 0x7f80_0000),
    };
    let place = |element: &[u8]| {
        let code = element.iter().rev().fold(0_i64, |code, byte| code << 8 | i64::from(*byte));
        let magnitude = code & (sign - 1);
        let far = if magnitude == infinite { sign } else { magnitude };
        (magnitude <= infinite).then_some(if code & sign == 0 { far } else { -1 - far })
    };
    bytes.chunks_exact(dtype.bytes()).map(place).collect()
}
