// e4m3 and e5m2 beside bf16, f16 and f32, for casts and storage alone: four lie in a word, the first in its lowest bits.
//!use lib/elements.wgsl
//!use lib/codec.wgsl

// As `crate::dispatch::structs::stored_code` has them.
const E4M3 = 3u;
const E5M2 = 4u;

// e4m3 has no infinity: beyond the largest lies its NaN.
const OF_E4M3 = Format(3u, 7u, 0x7eu, 0x7fu, 121u);
const OF_E5M2 = Format(2u, 7u, 0x7bu, 0x7eu, 113u);

// Of a type that is narrower than f32.
fn format_of(dtype: u32) -> Format {
  if (dtype == E4M3) {
    return OF_E4M3;
  }
  if (dtype == E5M2) {
    return OF_E5M2;
  }
  if (dtype == F16) {
    return OF_F16;
  }
  return OF_BF16;
}

fn is_eight_bits(dtype: u32) -> bool {
  return dtype >= E4M3;
}

// The word that holds an element of any of the five.
fn any_word_of(dtype: u32, element: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return element >> 2u;
  }
  return word_of(dtype, element);
}

// The element's bits, of the word that holds it.
fn any_code_in(dtype: u32, word: u32, element: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return (word >> (8u * (element & 3u))) & 0xffu;
  }
  return code_in(dtype, word, element);
}

// The bits of the f32 that an element's bits stand for.
fn any_widened(dtype: u32, code: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return f32_of_code(format_of(dtype), code);
  }
  return widened(dtype, code);
}

// The element's bits for the bits of an f32, rounded to nearest even.
fn any_narrowed(dtype: u32, bits: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return nearest_code(format_of(dtype), bits);
  }
  return narrowed(dtype, bits);
}

// The bits of the f32 that a code stands for; NaN is quiet, and keeps its sign alone.
fn f32_of_code(format: Format, code: u32) -> u32 {
  let sign = (code >> format.sign_bit) << 31u;
  let magnitude = code & ((1u << format.sign_bit) - 1u);
  let dropped = 23u - format.stored;
  if (magnitude > format.most) {
    let is_infinity = magnitude == format.most + 1u && magnitude != format.not_a_number;
    return sign | select(INFINITY_BITS | QUIET_BIT, INFINITY_BITS, is_infinity);
  }
  if ((magnitude >> format.stored) != 0u) {
    return sign | ((magnitude << dropped) + ((format.first_normal - 1u) << 23u));
  }
  if (magnitude == 0u) {
    return sign;
  }
  // So many units of the smallest subnormal.
  let top = firstLeadingBit(magnitude);
  let exponent = format.first_normal - format.stored + top;
  return sign | (exponent << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
}

// To nearest, ties to even; beyond the largest lies infinity, or NaN.
fn nearest_code(format: Format, bits: u32) -> u32 {
  let fixed = fixed_of(format, bits & MAGNITUDE_BITS);
  let odd = (fixed.number >> fixed.point) & 1u;
  let code = (fixed.number + ((1u << (fixed.point - 1u)) - 1u) + odd) >> fixed.point;
  let magnitude = select(min(code, format.most + 1u), format.not_a_number, is_nan_bits(bits));
  return magnitude | ((bits >> 31u) << format.sign_bit);
}
