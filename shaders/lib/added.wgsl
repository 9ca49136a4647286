// The sum of two f32 rounded to nearest even, subnormals kept, which drivers may flush.
//!use lib/half_bits.wgsl

// Below this exponent a number times 2^149 is in range still, and above it no sum with anything is subnormal.
const MOST_RAISED = 100u;

// Times 2^149, which makes subnormals whole numbers: by bits, so that nothing is flushed.
fn raised(bits: u32) -> f32 {
  let magnitude = bits & MAGNITUDE_BITS;
  let of_subnormal = bitcast<u32>(f32(magnitude));
  let value = select(magnitude + (149u << 23u), of_subnormal, magnitude < 0x800000u);
  return bitcast<f32>(value | (bits & SIGN_BIT));
}

fn added(a: u32, b: u32) -> u32 {
  let exponents = max((a & MAGNITUDE_BITS) >> 23u, (b & MAGNITUDE_BITS) >> 23u);
  if (exponents >= MOST_RAISED) {
    return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
  }
  let sum = bitcast<u32>(raised(a) + raised(b));
  let magnitude = bitcast<f32>(sum & MAGNITUDE_BITS);
  // Whole numbers up to 2^24 are codes.
  if (magnitude < 16777216.0) {
    return (sum & SIGN_BIT) | u32(magnitude);
  }
  return sum - (149u << 23u);
}
