// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/wide.wgsl
// Integers of 64 bits, which WGSL does not have: the lower word first, signed ones in two's complement. All of it wraps.

// Of the sign that a word of 32 bits has.
fn extended(value: i32) -> vec2<u32> {
  return vec2(bitcast<u32>(value), bitcast<u32>(value >> 31u));
}

fn is_negative(a: vec2<u32>) -> bool {
  return (a.y >> 31u) != 0u;
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn minus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Unsigned.
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The whole product of two words, by halves of them.
fn product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let left = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let right = (a & 0xffffu) * (b >> 16u) + (left & 0xffffu);
  return vec2((low & 0xffffu) | (right << 16u), (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u));
}

// The lower 64 bits of a product.
fn times(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return product(a.x, b.x) + vec2(0u, a.x * b.y + a.y * b.x);
}

// The upper 64 bits of an unsigned product.
fn times_high(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let left = plus(product(a.y, b.x), vec2(product(a.x, b.x).y, 0u));
  let right = plus(product(a.x, b.y), vec2(left.x, 0u));
  return plus(plus(product(a.y, b.y), vec2(left.y, 0u)), vec2(right.y, 0u));
}

// By 0 to 63 bits.
fn shifted_left(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(0u, a.x << (bits - 32u));
  }
  return select(vec2(a.x << bits, (a.y << bits) | (a.x >> (32u - bits))), a, bits == 0u);
}

// By any number of bits, unsigned and rounded down.
fn shifted_right(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(select(a.y >> (bits & 31u), 0u, bits > 63u), 0u);
  }
  return select(vec2((a.x >> bits) | (a.y << (32u - bits)), a.y >> bits), a, bits == 0u);
}

fn leading_zeros(a: vec2<u32>) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}

// By 1 to 31 bits; signed, and so rounded down.
fn shifted_down(a: vec2<u32>, bits: u32) -> vec2<u32> {
  return vec2((a.x >> bits) | (a.y << (32u - bits)), bitcast<u32>(bitcast<i32>(a.y) >> bits));
}

fn negated(a: vec2<u32>) -> vec2<u32> {
  return minus(vec2(0u), a);
}

// Signed by a divisor of 1 to 2^31, rounded towards zero: bit by bit.
fn quotient(a: vec2<u32>, divisor: u32) -> vec2<u32> {
  var rest = select(a, negated(a), is_negative(a));
  var left = 0u;
  for (var bit = 0u; bit < 64u; bit++) {
    left = (left << 1u) | (rest.y >> 31u);
    let fits = left >= divisor;
    left -= select(0u, divisor, fits);
    rest = shifted_left(rest, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  return select(rest, negated(rest), is_negative(a));
}

// a / b * 2^55 of two with equally many bits, 62 at most, so that it has 55 or 56: the last is 1 where anything was cut off.
fn ratio(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var rest = a;
  var found = vec2(0u);
  for (var bit = 0u; bit < 56u; bit++) {
    let fits = !is_less(rest, b);
    rest = minus(rest, select(vec2(0u), b, fits));
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
    rest = shifted_left(rest, 1u);
  }
  return found | vec2(select(0u, 1u, any(rest != vec2(0u))), 0u);
}

// The largest integer whose square is at most this, bit by bit.
fn root(value: vec2<u32>) -> vec2<u32> {
  var rest = value;
  var found = vec2(0u);
  for (var bit = 0u; bit < 32u; bit++) {
    let place = 62u - 2u * bit;
    let one = select(vec2(1u << place, 0u), vec2(0u, 1u << (place - 32u)), place >= 32u);
    let candidate = plus(found, one);
    let fits = !is_less(rest, candidate);
    rest = minus(rest, select(vec2(0u), candidate, fits));
    found = plus(shifted_right(found, 1u), select(vec2(0u), one, fits));
  }
  return found;
}

// What a signed one is, or the nearest of 32 bits.
fn within_word(a: vec2<u32>) -> i32 {
  if (extended(bitcast<i32>(a.x)).y == a.y) {
    return bitcast<i32>(a.x);
  }
  return select(0x7fffffff, -0x7fffffff - 1, is_negative(a));
}

// shaders/lib/state.wgsl
// What the device keeps: the scale, what a pass found, what a set of gradients is still owed. The host's twins are in
// `binade-wgpu/src/dispatch/structs`. Floats that may be infinite, NaN or subnormal are bits, so that no driver changes them.

// `binade_grad_scaler::ScaleState`, and the bits of the two factors that others read from it.
struct Scale {
  factor: u32,
  inverse: u32,
  significand: u32,
  exponent: i32,
  before: i32,
  good_steps: u32,
  bad_steps: u32,
  diverged: u32,
  updates: vec2<u32>,
  overflows: vec2<u32>,
  skipped: vec2<u32>,
  tolerated: u32,
  since_move: u32,
  // `binade_grad_scaler::Averages`.
  mean: vec2<u32>,
  slow_mean: vec2<u32>,
  square: vec2<u32>,
  taken: u32,
  slow_taken: u32,
}

// No parameter's number, and that which a norm goes by which is not finite.
const NOBODY = 0xffffffffu;
const THE_NORM = 0xfffffffeu;

// `binade_core::Finding` without names. Any positive `raised` skips.
struct Found {
  raised: u32,
  halted: u32,
  parameter: u32,
  has_norm: u32,
  index: vec2<u32>,
  scaled: u32,
  unscaled: u32,
  infinities: vec2<u32>,
  nans: vec2<u32>,
  magnitude: u32,
  norm: u32,
  pad: vec2<u32>,
}

// What unscaling and clipping leave to whoever reads a set's values, and its sizes.
struct Owed {
  inverse: u32,
  clip: u32,
  // The largest magnitude there is once unscaled, where NaN is largest.
  largest: u32,
  // The sum of squares of what is finite, times 4^-exponent.
  exponent: i32,
  squares: vec2<u32>,
}

// shaders/merge.wgsl
// Joins what two passes found.
//
// Oracle: `binade_grad_scaler::join_findings`; agreement: bits.
//
// `merge`: one invocation, which writes where the first of the two was.
//
// Magnitudes are compared as bits: they have no sign and are no NaN.

struct Params {
  // Whether both must have overflowed.
  all: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> joined: Found;
@group(0) @binding(2) var<storage, read> other: Found;

@compute @workgroup_size(1)
fn merge() {
  var found = joined;
  if (found.raised == 0u && other.raised != 0u) {
    found.parameter = other.parameter;
    found.index = other.index;
    found.scaled = other.scaled;
    found.unscaled = other.unscaled;
  }
  let both = joined.raised != 0u && other.raised != 0u;
  let either = joined.raised != 0u || other.raised != 0u;
  let has_overflowed = select(either, both, params.all != 0u);
  found.raised = select(0u, 1u, has_overflowed);
  found.parameter = select(NOBODY, found.parameter, has_overflowed);
  found.halted = select(0u, 1u, (joined.halted | other.halted) != 0u);
  found.infinities = plus(joined.infinities, other.infinities);
  found.nans = plus(joined.nans, other.nans);
  found.magnitude = max(joined.magnitude, other.magnitude);
  joined = found;
}
