// Whether updates changed anything, counted: `applied` is `Applied`, four words each, of which the last two are counted in here.
//!asks applied, params
//!use lib/half_bits.wgsl

// As numbers are: NaN is no other, and zeros are one.
fn is_same(a: u32, b: u32) -> bool {
  let are_zero = ((a | b) & MAGNITUDE_BITS) == 0u;
  return are_zero || (a == b && !is_nan_bits(a));
}

// Counts an element's update by what is kept of it, before and after.
fn count_update(before: u32, after: u32, is_updated: bool) {
  if (!is_same(before, after)) {
    atomicAdd(&applied[4u * params.slot + 3u], 1u);
  } else if (is_updated) {
    atomicAdd(&applied[4u * params.slot + 2u], 1u);
  }
}
