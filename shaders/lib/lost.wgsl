// Whether an update changed anything.
//!use lib/half_bits.wgsl

// As numbers are: NaN is no other, and zeros are one.
fn is_same(a: u32, b: u32) -> bool {
  let are_zero = ((a | b) & MAGNITUDE_BITS) == 0u;
  return are_zero || (a == b && !is_nan_bits(a));
}
