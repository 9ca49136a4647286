// Rounding f32 among the codes of a narrower format, in integers: line for line `binade_core::cast::codec`, which says why it
// works.

// A format: bits of the significand that are stored, all but the sign's in ones, what infinity or NaN begins with, and the
// exponent of an f32 that is its first normal one.
struct Format {
  stored: u32,
  sign_bit: u32,
  most: u32,
  not_a_number: u32,
  first_normal: u32,
}

const OF_BF16 = Format(7u, 15u, 0x7f7fu, 0x7fc0u, 1u);
const OF_F16 = Format(10u, 15u, 0x7bffu, 0x7e00u, 113u);

// A magnitude as number / 2^point.
struct Fixed {
  number: u32,
  point: u32,
}

fn fixed_of(format: Format, magnitude: u32) -> Fixed {
  let exponent = magnitude >> 23u;
  let dropped = 23u - format.stored;
  if (exponent >= format.first_normal) {
    return Fixed(magnitude - ((format.first_normal - 1u) << 23u), dropped);
  }
  let significand = (magnitude & 0x7fffffu) | select(0x800000u, 0u, exponent == 0u);
  let point = dropped + format.first_normal - max(exponent, 1u);
  if (point <= 31u) {
    return Fixed(significand, point);
  }
  // 31 bits of fraction are kept, so that the sum with a random fraction fits in 32 bits.
  return Fixed(select(0u, significand >> ((point - 31u) & 31u), point <= 54u), 31u);
}

// What of a random word is added rounds up as often as the rest is large; beyond the largest lies infinity, or NaN.
fn stochastic(format: Format, bits: u32, random: u32) -> u32 {
  let fixed = fixed_of(format, bits & 0x7fffffffu);
  let code = (fixed.number + (random >> (32u - fixed.point))) >> fixed.point;
  let is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  let magnitude = select(min(code, format.most + 1u), format.not_a_number, is_nan);
  return magnitude | ((bits >> 31u) << format.sign_bit);
}
