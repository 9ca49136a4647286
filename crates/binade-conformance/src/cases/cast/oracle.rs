//! Oracle of casts: the values of a format's codes, and rounding to one of two neighbours.
//!
//! Layouts are those of IEEE 754-2019, 3.4, of bfloat16, and of the OCP 8-bit Floating Point Specification 1.0.

use binade_core::DType;

/// Widths of a format's fields, and a flag: true if its top exponent is for infinity and NaN alone.
pub(in crate::cases) struct Format {
    exponent: u32,
    fraction: u32,
    has_infinity: bool,
}

impl Format {
    /// Returns the format of `dtype`.
    ///
    /// # Panics
    ///
    /// For types that are not floating-point.
    pub(in crate::cases) fn of(dtype: DType) -> Self {
        let (exponent, fraction) = match dtype {
            DType::BF16 => (8, 7),
            DType::F16 => (5, 10),
            DType::F32 => (8, 23),
            DType::E4M3 => (4, 3),
            DType::E5M2 => (5, 2),
            other => panic!("{other} has no layout here; take bf16, f16, f32, e4m3 or e5m2"),
        };
        Self { exponent, fraction, has_infinity: dtype != DType::E4M3 }
    }

    /// Returns the lowest code without sign that is not a finite number: infinity, or E4M3's only NaN.
    fn top(&self) -> u64 {
        let all_ones = (1 << (self.exponent + self.fraction)) - 1;
        if self.has_infinity { all_ones - ((1 << self.fraction) - 1) } else { all_ones }
    }

    /// Returns the number of `code`, without sign. The code after the largest number gives the number that would come next if the exponents went on;
    /// overflow is rounded as if it existed.
    fn number(&self, code: u64) -> f64 {
        let fraction = code & ((1 << self.fraction) - 1);
        let exponent = (code >> self.fraction).cast_signed();
        let bias = (1_i64 << (self.exponent - 1)) - 1;
        let (significand, exponent) = match exponent {
            0 => (fraction, 1),
            e => (fraction + (1 << self.fraction), e),
        };
        small(significand) * power_of_two(exponent - bias - i64::from(self.fraction))
    }

    /// Returns the code of a magnitude: the codes of all binades below, plus its units in its own binade, which `whole` makes a whole number.
    fn code(&self, magnitude: f64, whole: impl FnOnce(f64) -> f64) -> u64 {
        let lowest = 2 - (1_i64 << (self.exponent - 1));
        let binade = ((magnitude.to_bits() >> 52).cast_signed() - 1023).max(lowest);
        let units = whole(magnitude * power_of_two(i64::from(self.fraction) - binade));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number, or one that is rounded down, and a magnitude has no sign"
        )]
        let units = units as u64;
        let below = (binade - lowest).cast_unsigned() << self.fraction;
        below.saturating_add(units).min(self.top())
    }

    /// Returns the highest code whose number is at most `magnitude`.
    fn at_most(&self, magnitude: f64) -> u64 {
        self.code(magnitude, f64::floor)
    }

    /// Returns the code of a number's sign.
    fn sign(&self, x: f64) -> u64 {
        u64::from(x.is_sign_negative()) << (self.exponent + self.fraction)
    }

    /// Returns the code of the NaN that casts give, with the sign of `x`.
    fn nan(&self, x: f64) -> u64 {
        self.sign(x) | self.top() | (1 << (self.fraction - 1))
    }

    /// Returns the code of `x`. If `x` is between two numbers of the format, `goes_up` gets the lower code and both magnitudes, and returns true for
    /// the larger magnitude. Overflow goes to infinity, and in E4M3 to NaN.
    pub(in crate::cases) fn round(
        &self,
        x: f64,
        goes_up: impl FnOnce(u64, [f64; 2]) -> bool,
    ) -> u64 {
        if x.is_nan() {
            return self.nan(x);
        }
        let sign = self.sign(x);
        let below = self.at_most(x.abs());
        if below == self.top() {
            return sign | below;
        }
        let around = [below, below + 1].map(|code| self.number(code));
        sign | (below + u64::from(goes_up(below, around)))
    }
}

/// Returns the exact value of `code`.
///
/// # Panics
///
/// For types that are not floating-point.
pub(crate) fn value(code: u64, dtype: DType) -> f64 {
    if dtype == DType::F64 {
        return f64::from_bits(code);
    }
    let format = Format::of(dtype);
    let sign = 1_u64 << (format.exponent + format.fraction);
    let magnitude = match code & (sign - 1) {
        finite if finite < format.top() => format.number(finite),
        top if top == format.top() && format.has_infinity => f64::INFINITY,
        _ => f64::NAN,
    };
    if code & sign == 0 { magnitude } else { -magnitude }
}

/// Returns the code of `dtype` nearest to `x`; of two that are equally near, the even one. Overflow goes to infinity, and in E4M3, which has none, to
/// NaN.
///
/// # Panics
///
/// For types that are not floating-point.
pub(crate) fn round(x: f64, dtype: DType) -> u64 {
    if dtype == DType::F64 {
        return x.to_bits();
    }
    let format = Format::of(dtype);
    if x.is_nan() {
        return format.nan(x);
    }
    format.sign(x) | format.code(x.abs(), to_even)
}

/// Returns `x` rounded to `dtype`.
///
/// # Panics
///
/// For types that are not floating-point.
pub(crate) fn rounded(x: f64, dtype: DType) -> f64 {
    value(round(x, dtype), dtype)
}

/// Returns the numbers of `dtype` around a finite `x`: the largest magnitude up to that of `x`, and the next.
///
/// # Panics
///
/// For `f64`, and for types that are not floating-point.
pub(crate) fn neighbours(x: f64, dtype: DType) -> [f64; 2] {
    let format = Format::of(dtype);
    let below = format.at_most(x.abs()).min(format.top() - 1);
    [below, below + 1].map(|code| format.number(code).copysign(x))
}

/// Returns one unit in the last place of `dtype` at a finite `x`.
///
/// # Panics
///
/// For `f64`, and for types that are not floating-point.
pub(crate) fn ulp(x: f64, dtype: DType) -> f64 {
    let [below, above] = neighbours(x, dtype);
    (above - below).abs()
}

/// Returns a significand of at most 24 bits as a number.
#[expect(clippy::cast_precision_loss, reason = "significands have at most 24 bits")]
fn small(significand: u64) -> f64 {
    significand as f64
}

/// Returns the nearest whole number; of two equally near, the even one. It takes magnitudes below 2^52 and infinity: their sum with 2^52 has no
/// fraction. `f64::round_ties_even`, which gives the same, calls C's library.
fn to_even(magnitude: f64) -> f64 {
    const WHOLE: f64 = 4503599627370496.0; // 2^52
    (magnitude + WHOLE) - WHOLE
}

/// Returns 2^exponent, which is normal in `f64` for every format's exponents.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent + 1023).cast_unsigned() << 52)
}
