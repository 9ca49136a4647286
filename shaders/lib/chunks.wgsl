// A tensor of a set, by chunks of it, one for each workgroup: what is measured of one, and where.
//!use lib/elements.wgsl
//!use lib/squares.wgsl

// So that a thread has 64 elements, whose squares of 56 bits add up to 62.
const CHUNK = 16384u;

struct Partial {
  // Of the first element that is not finite: its place, its parameter, and itself.
  index: u32,
  parameter: u32,
  scaled: u32,
  infinities: u32,
  nans: u32,
  // The largest that is finite, as it was made, and the largest of all, once unscaled.
  magnitude: u32,
  largest: u32,
  // The sum of squares, times 4^-exponent.
  exponent: i32,
  squares: vec2<u32>,
}

const NOWHERE = 0xffffffffu;

// 64 bits in three words of which 1024 can be added.
fn limbs_of(a: vec2<u32>) -> vec3<u32> {
  return vec3(a.x & 0x1fffffu, ((a.x >> 21u) | (a.y << 11u)) & 0x1fffffu, a.y >> 10u);
}

fn sum_of_limbs(limbs: vec3<u32>) -> vec2<u32> {
  let upper = plus(vec2(0u, limbs.z << 10u), shifted_left(vec2(limbs.y, 0u), 21u));
  return plus(vec2(limbs.x, 0u), upper);
}
