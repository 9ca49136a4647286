// Sums of squares over the chunks of a tensor, each by a workgroup, and their sum over all chunks, by one workgroup. All of it is
// integers, so that no order shows in the bits. A shader gives the sum of chunk `i` by `sum_of_chunk(i)`.
//!asks sum_of_chunk
//!use lib/elements.wgsl
//!use lib/squares.wgsl

// So that a thread has 64 elements, whose squares of 56 bits add up to 62.
const CHUNK = 16384u;

// An exponent below that of any sum.
const NO_SQUARES = -0x7fffffff;

// Of one sum, or of three.
var<workgroup> limbs: array<atomic<u32>, 9>;
// The largest of the sums that are joined.
var<workgroup> exponent: atomic<i32>;

// 64 bits in three words of which 1024 can be added.
fn limbs_of(a: vec2<u32>) -> vec3<u32> {
  return vec3(a.x & 0x1fffffu, ((a.x >> 21u) | (a.y << 11u)) & 0x1fffffu, a.y >> 10u);
}

fn sum_of_limbs(limbs: vec3<u32>) -> vec2<u32> {
  let upper = plus(vec2(0u, limbs.z << 10u), shifted_left(vec2(limbs.y, 0u), 21u));
  return plus(vec2(limbs.x, 0u), upper);
}

fn clear_sums() {
  atomicStore(&exponent, NO_SQUARES);
  for (var k = 0u; k < 9u; k++) {
    atomicStore(&limbs[k], 0u);
  }
}

// Adds to the sum whose limbs are these three.
fn add_limbs(first: u32, sum: vec2<u32>) {
  let parts = limbs_of(sum);
  atomicAdd(&limbs[first], parts.x);
  atomicAdd(&limbs[first + 1u], parts.y);
  atomicAdd(&limbs[first + 2u], parts.z);
}

fn sum_at(first: u32) -> vec2<u32> {
  return sum_of_limbs(vec3(atomicLoad(&limbs[first]), atomicLoad(&limbs[first + 1u]), atomicLoad(&limbs[first + 2u])));
}

// Adds the squares of a thread's elements, in units of 4^unit, to the sum whose limbs begin there: lowered by eight bits.
fn add_squares_of_thread(first: u32, squares: vec2<u32>) {
  add_limbs(first, shifted_right(squares, 8u));
}

// The chunk's sum of what its threads have added.
fn squares_of_chunk(first: u32, unit: i32) -> Squares {
  return Squares(sum_at(first), unit + 4);
}

// Takes in the exponent of a chunk's sum.
fn join_exponent(sum: Squares) {
  if (any(sum.sum != vec2(0u))) {
    atomicMax(&exponent, sum.exponent);
  }
}

// What is cut off when squares are lowered by so many bits, its 32 highest bits.
fn cut_off(squares: vec2<u32>, dropped: u32) -> u32 {
  if (dropped > 32u) {
    return shifted_right(squares, dropped - 32u).x;
  }
  return shifted_left(squares, 32u - dropped).x;
}

// Adds the sums of the chunks `start`, `start + step` and so on up to `end`. In units of 4^unit three sums, each of as many words as
// there are chunks: of what is below a unit, and of the lower and the upper words of what is not. So nothing is lost that a small
// part of the largest could show, however many chunks there are.
fn join_squares(start: u32, end: u32, step: u32, unit: i32) {
  var sums: array<vec2<u32>, 3>;
  for (var i = start; i < end; i += step) {
    let chunk = sum_of_chunk(i);
    // NaN: these are integers.
    let dropped = 2u * u32(clamp(unit - chunk.exponent, 0, 64));
    let kept = shifted_right(chunk.sum, dropped);
    sums[0] = plus(sums[0], vec2(cut_off(chunk.sum, dropped), 0u));
    sums[1] = plus(sums[1], vec2(kept.x, 0u));
    sums[2] = plus(sums[2], vec2(kept.y, 0u));
  }
  for (var k = 0u; k < 3u; k++) {
    add_limbs(3u * k, sums[k]);
  }
}

// The highest 64 bits, or 63, of what the three sums come to.
fn joined(unit: i32) -> Squares {
  let below = sum_at(0u);
  let lower = plus(sum_at(3u), vec2(below.y, 0u));
  let upper = plus(sum_at(6u), vec2(lower.y, 0u));
  // An even number, since the exponent is of 4.
  let dropped = (65u - leading_zeros(upper)) & 126u;
  let rest = shifted_right(vec2(below.x, lower.x), dropped);
  return Squares(rest | shifted_left(upper, 64u - dropped), unit - 16 + i32(dropped / 2u));
}
