// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/half_bits.wgsl
// bf16, f16 and f32 as bits: conversions in integers alone, the same on every driver. WGSL's own leave the rounding and the
// overflow to the driver, and lose the payload of NaN.

const SIGN_BIT = 0x80000000u;
const MAGNITUDE_BITS = 0x7fffffffu;
const INFINITY_BITS = 0x7f800000u;
const QUIET_BIT = 0x00400000u;

// Of an f32's bits. Comparisons of floats are no help: `x != x` is never true here.
fn is_nonfinite(bits: u32) -> bool {
  return (bits & INFINITY_BITS) == INFINITY_BITS;
}

fn is_nan_bits(bits: u32) -> bool {
  return (bits & MAGNITUDE_BITS) > INFINITY_BITS;
}

// Shifts `dropped` bits out, of 1 to 31, and rounds to nearest, ties to even.
fn shifted_out(significand: u32, dropped: u32) -> u32 {
  let kept = significand >> dropped;
  let rest = significand & ((1u << dropped) - 1u);
  let half = 1u << (dropped - 1u);
  let rounds_up = rest > half || (rest == half && (kept & 1u) == 1u);
  return kept + select(0u, 1u, rounds_up);
}

fn f16_of_f32(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & MAGNITUDE_BITS;
  if (magnitude > INFINITY_BITS) {
    return sign | 0x7e00u | ((magnitude >> 13u) & 0x3ffu);
  }
  let exponent = magnitude >> 23u;
  // 13 bits have no place in an f16, and one more for each binade below its least normal one, 2^-14; at 25 all is gone.
  let dropped = min(max(126u, exponent + 13u) - exponent, 25u);
  let rounded = shifted_out((magnitude & 0x7fffffu) | 0x800000u, dropped);
  // The leading bit, which f16 does not store, is one of the exponent; so is what rounding carries.
  let base = (max(exponent, 113u) - 113u) << 10u;
  return sign | min(base + rounded, 0x7c00u);
}

fn f32_of_f16(code: u32) -> u32 {
  let sign = (code & 0x8000u) << 16u;
  let magnitude = code & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    let payload = (magnitude & 0x3ffu) << 13u;
    return sign | INFINITY_BITS | payload | select(0u, QUIET_BIT, payload != 0u);
  }
  if (magnitude >= 0x400u) {
    return sign | ((magnitude << 13u) + 0x38000000u);
  }
  if (magnitude == 0u) {
    return sign;
  }
  // So many units of 2^-24.
  let top = firstLeadingBit(magnitude);
  return sign | ((top + 103u) << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
}

fn bf16_of_f32(bits: u32) -> u32 {
  if (is_nan_bits(bits)) {
    return (bits >> 16u) | 0x40u;
  }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn f32_of_bf16(code: u32) -> u32 {
  return code << 16u;
}

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

// shaders/lib/multiply.wgsl
// The product of two f32 by their bits, rounded to nearest even, subnormals kept: drivers may flush those, and what a scale
// rescues lies among them.

const QUIET_NAN = 0x7fc00000u;

// 24 bits, and the power of two of the lowest, of a number that is neither 0 nor infinite.
struct Parts {
  significand: u32,
  exponent: i32,
}

fn parts_of(magnitude: u32) -> Parts {
  let exponent = i32(magnitude >> 23u);
  let fraction = magnitude & 0x7fffffu;
  if (exponent == 0) {
    let up = countLeadingZeros(fraction) - 8u;
    return Parts(fraction << up, -149 - i32(up));
  }
  return Parts(fraction | 0x800000u, exponent - 150);
}

// The magnitude nearest to significand * 2^exponent, of one with 33 to 63 bits.
fn nearest(significand: vec2<u32>, exponent: i32) -> u32 {
  let bits = 64 - i32(countLeadingZeros(significand.y));
  // Those that an f32 has no place for: more where the result is subnormal.
  let dropped = max(bits - 24, -149 - exponent);
  if (dropped > bits) {
    return 0u;
  }
  if (exponent + dropped > 104) {
    return INFINITY_BITS;
  }
  let kept = shifted_right(significand, u32(dropped)).x;
  let rest = minus(significand, shifted_left(vec2(kept, 0u), u32(dropped)));
  let half = shifted_left(vec2(1u, 0u), u32(dropped) - 1u);
  let is_tie = all(rest == half);
  let rounds_up = is_less(half, rest) || (is_tie && (kept & 1u) == 1u);
  // The leading bit, which an f32 does not store, is one of the exponent; so is what rounding carries.
  let base = select(0u, u32(exponent + dropped + 149) << 23u, kept >= 0x800000u);
  return base + kept + select(0u, 1u, rounds_up);
}

// Whether the driver's own product is right: both factors and the result are normal whatever is rounded.
fn is_normal_product(x: u32, y: u32) -> bool {
  let exponents = (x >> 23u) + (y >> 23u);
  let are_normal = min(x, y) >= 0x800000u && max(x, y) < INFINITY_BITS;
  return are_normal && exponents > 127u && exponents < 380u;
}

fn multiplied(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & SIGN_BIT;
  let x = a & MAGNITUDE_BITS;
  let y = b & MAGNITUDE_BITS;
  if (is_normal_product(x, y)) {
    return bitcast<u32>(bitcast<f32>(a) * bitcast<f32>(b));
  }
  if (max(x, y) > INFINITY_BITS) {
    return QUIET_NAN;
  }
  if (max(x, y) == INFINITY_BITS) {
    return select(sign | INFINITY_BITS, QUIET_NAN, min(x, y) == 0u);
  }
  if (min(x, y) == 0u) {
    return sign;
  }
  let left = parts_of(x);
  let right = parts_of(y);
  return sign | nearest(product(left.significand, right.significand), left.exponent + right.exponent);
}

// shaders/lib/squares.wgsl
// A sum of squares in integers: the same bits on every driver, in whatever order it was added. The terms are in fixed point
// below the largest, so that nothing overflows, and what is rounded off one is less than 2^-28 of the largest.

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

// shaders/lib/norm.wgsl
// A norm, and the factor that clips by it, from a sum of squares in integers: of 60 bits, and rounded once each.

// root * 2^exponent, of a root with 60 bits, the last of which is 1 where anything was cut off.
struct Root {
  root: vec2<u32>,
  exponent: i32,
}

// Of a sum that is not 0: digit by digit, two bits of the sum for each.
fn root_of(squares: Squares) -> Root {
  // By an even number, so that a root has half as many.
  let shift = leading_zeros(squares.sum) & 62u;
  var left = shifted_left(squares.sum, shift);
  var rest = vec2(0u);
  var found = vec2(0u);
  for (var bit = 0u; bit < 60u; bit++) {
    rest = shifted_left(rest, 2u) | vec2(left.y >> 30u, 0u);
    left = shifted_left(left, 2u);
    let candidate = shifted_left(found, 2u) | vec2(1u, 0u);
    let fits = !is_less(rest, candidate);
    rest = minus(rest, select(vec2(0u), candidate, fits));
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  let sticky = select(0u, 1u, any(rest != vec2(0u)));
  // 32 digits are the sum's own.
  return Root(found | vec2(sticky, 0u), squares.exponent - i32(shift / 2u) - 28);
}

// Of a magnitude that is finite and not 0.
fn root_of_square(magnitude: u32) -> Root {
  let parts = parts_of(magnitude);
  return Root(shifted_left(vec2(parts.significand, 0u), 36u), parts.exponent - 36);
}

// The bits of the f32 nearest to it.
fn rounded_root(norm: Root) -> u32 {
  return nearest(norm.root, norm.exponent);
}

// The bits of the f32 nearest to most / norm, or of 1 where that is more; `most` is positive and finite.
fn clip_factor(most: u32, norm: Root) -> u32 {
  let of_most = root_of_square(most);
  return min(nearest(ratio(of_most.root, norm.root), of_most.exponent - norm.exponent - 55), 0x3f800000u);
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

// shaders/clip.wgsl
// The factor that clips a set of gradients by its norm, and the norm in the verdict.
//
// Oracles: `binade_grad_scaler::{record_norm, check_group_norm, clip_factor}`; agreement: bits, given the sum of squares, but
// that those round to an f64 first, and so once in 2^28 to another f32.
//
// `clip`: one invocation, which writes where it reads. `clip_group`: the same of a group of a set, whose factor goes into a word of
// its own and whose norm into the verdict only where it is not finite; groups one after another, so that the first is named.
//
// A norm that is not finite as f32 raises the verdict, and counts no element. Roots and quotients are integers', since the
// driver's are not rounded.

const L2 = 0u;

struct Params {
  norm: u32,
  // The bits of the largest norm that stays.
  most: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> verdict: Found;
@group(0) @binding(2) var<storage, read_write> owed: Owed;

const ONE = 0x3f800000u;

struct Clip {
  norm: u32,
  factor: u32,
}

fn clipped(kind: u32, most: u32) -> Clip {
  if (owed.largest > INFINITY_BITS) {
    return Clip(QUIET_NAN, ONE);
  }
  if (owed.largest == INFINITY_BITS) {
    return Clip(INFINITY_BITS, 0u);
  }
  if (owed.largest == 0u) {
    return Clip(0u, ONE);
  }
  var norm = root_of_square(owed.largest);
  if (kind == L2) {
    norm = root_of(Squares(owed.squares, owed.exponent));
  }
  if (most == INFINITY_BITS) {
    return Clip(rounded_root(norm), ONE);
  }
  return Clip(rounded_root(norm), clip_factor(most, norm));
}

fn check(norm: u32, name: u32) {
  if (is_nonfinite(norm) && verdict.raised == 0u) {
    verdict.raised = 1u;
    verdict.parameter = name;
    verdict.index = vec2(0u);
    verdict.scaled = norm;
    verdict.unscaled = norm;
  }
}

@compute @workgroup_size(1)
fn clip() {
  let result = clipped(params.norm, params.most);
  owed.clip = result.factor;
  verdict.has_norm = 1u;
  verdict.norm = result.norm;
  check(result.norm, THE_NORM);
}

struct GroupParams {
  norm: u32,
  most: u32,
  // What its norm goes by where it is not finite.
  name: u32,
  // Which of the factors is the group's.
  place: u32,
}

@group(0) @binding(0) var<uniform> of_group: GroupParams;
@group(0) @binding(3) var<storage, read_write> factors: array<u32>;

@compute @workgroup_size(1)
fn clip_group() {
  let result = clipped(of_group.norm, of_group.most);
  factors[of_group.place] = result.factor;
  check(result.norm, of_group.name);
}
