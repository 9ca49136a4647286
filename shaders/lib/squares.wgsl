// A sum of squares in integers: the same bits on every driver, in whatever order it was added. The terms are in fixed point
// below the largest, so that nothing overflows, and what is rounded off one is less than 2^-28 of the largest.
//!use lib/multiply.wgsl

// sum * 4^exponent.
struct Squares {
  sum: vec2<u32>,
  exponent: i32,
}

// Bits of the largest term before it is squared.
const FIXED = 28u;

// The power of two of a term's lowest bit, where this is the largest magnitude.
fn unit_of(largest: u32) -> i32 {
  return max(i32(largest >> 23u), 1) - 126 - i32(FIXED);
}

// The square of a magnitude that is at most the largest, in units of the unit's square, rounded to nearest.
fn squared(magnitude: u32, unit: i32) -> vec2<u32> {
  let exponent = max(i32(magnitude >> 23u), 1) - 150 - unit;
  let fraction = magnitude & 0x7fffffu;
  let significand = select(fraction, fraction | 0x800000u, magnitude >= 0x800000u);
  if (exponent >= 0) {
    let fixed = significand << u32(exponent);
    return product(fixed, fixed);
  }
  if (exponent < -25) {
    return vec2(0u);
  }
  let fixed = (significand + (1u << u32(-exponent - 1))) >> u32(-exponent);
  return product(fixed, fixed);
}
