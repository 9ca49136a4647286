//! Numbers that define a floating-point format.

use crate::DType;

/// Range and precision of a floating-point format; every value is exact.
///
/// The formulas are those of IEEE 754-2019, 3.3 and 3.4, for precision p and exponent width w: bias b = 2^(w-1) - 1, largest (2 - 2^(1-p))·2^b,
/// smallest normal 2^(1-b), smallest subnormal 2^(2-b-p). bfloat16 and E5M2 follow them; E4M3 uses its top exponent for numbers, except one code,
/// which is NaN (OCP 8-bit Floating Point Specification, revision 1.0).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Number of significant bits p, the implicit leading one included.
    pub significand_bits: u32,
    /// Number of bits w of the exponent field.
    pub exponent_bits: u32,
    /// Largest finite value.
    pub max: f64,
    /// Smallest positive value with all its significant bits.
    pub min_normal: f64,
    /// Smallest positive value.
    pub min_subnormal: f64,
    /// Distance from 1 to the next larger value: the ulp of 1, twice the unit roundoff.
    pub epsilon: f64,
    /// True if there are infinities; without them an overflow becomes NaN.
    pub has_infinity: bool,
}

impl Format {
    pub(crate) const BF16: Self = Self::ieee(8, 8);
    pub(crate) const F16: Self = Self::ieee(11, 5);
    pub(crate) const F32: Self = Self::ieee(24, 8);
    pub(crate) const F64: Self = Self::ieee(53, 11);
    pub(crate) const E4M3: Self = Self { max: 448.0, has_infinity: false, ..Self::ieee(4, 4) };
    pub(crate) const E5M2: Self = Self::ieee(3, 5);

    const fn ieee(significand_bits: u32, exponent_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let epsilon = halved(1.0, significand_bits - 1);
        let min_normal = halved(1.0, bias - 1);
        Self {
            significand_bits,
            exponent_bits,
            max: doubled(2.0 - epsilon, bias),
            min_normal,
            min_subnormal: halved(min_normal, significand_bits - 1),
            epsilon,
            has_infinity: true,
        }
    }

    /// Returns the number of bits of the exponent and significand fields together, which is the position of the sign bit.
    pub(crate) const fn magnitude_bits(self) -> u32 {
        self.exponent_bits + self.significand_bits - 1
    }
}

impl DType {
    /// Returns the format; `None` for integers and booleans.
    pub const fn format(self) -> Option<Format> {
        match self {
            Self::BF16 => Some(Format::BF16),
            Self::F16 => Some(Format::F16),
            Self::F32 => Some(Format::F32),
            Self::F64 => Some(Format::F64),
            Self::E4M3 => Some(Format::E4M3),
            Self::E5M2 => Some(Format::E5M2),
            Self::I64 | Self::I32 | Self::U8 | Self::Bool => None,
        }
    }
}

const fn doubled(mut value: f64, mut times: u32) -> f64 {
    while times > 0 {
        value *= 2.0;
        times -= 1;
    }
    value
}

const fn halved(mut value: f64, mut times: u32) -> f64 {
    while times > 0 {
        value *= 0.5;
        times -= 1;
    }
    value
}
