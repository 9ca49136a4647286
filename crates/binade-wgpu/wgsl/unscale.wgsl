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

// shaders/lib/elements.wgsl
// Elements of bf16, f16 and f32 in words of 32 bits: halves lie two in a word, the first in its lower bits. `element` counts
// from the binding's start. An invocation owns a group of elements, and with it whole words of what it writes.

// As `crate::dispatch::structs::code` has them.
const BF16 = 0u;
const F16 = 1u;
const F32 = 2u;

const THREADS = 256u;
const GROUP = 4u;

// The word that holds an element.
fn word_of(dtype: u32, element: u32) -> u32 {
  return select(element >> 1u, element, dtype == F32);
}

// The element's bits, of the word that holds it.
fn code_in(dtype: u32, word: u32, element: u32) -> u32 {
  return select((word >> (16u * (element & 1u))) & 0xffffu, word, dtype == F32);
}

// The bits of the f32 that an element's bits stand for.
fn widened(dtype: u32, code: u32) -> u32 {
  if (dtype == BF16) {
    return f32_of_bf16(code);
  }
  if (dtype == F16) {
    return f32_of_f16(code);
  }
  return code;
}

// The element's bits for the bits of an f32, rounded to nearest even.
fn narrowed(dtype: u32, bits: u32) -> u32 {
  if (dtype == BF16) {
    return bf16_of_f32(bits);
  }
  if (dtype == F16) {
    return f16_of_f32(bits);
  }
  return bits;
}

// Elements that one invocation leaves out for the next round of a grid that strides.
fn stride(groups: vec3<u32>) -> u32 {
  return groups.x * THREADS * GROUP;
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

// shaders/lib/chunks.wgsl
// A tensor of a set, by chunks of it, one for each workgroup: what is measured of one, and where.

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

// shaders/unscale.wgsl
// Looks at every gradient of a set as it is and as it will be once multiplied by the scale's inverse: what is not finite, how
// large the rest is, and the sum of squares for clipping. Nothing is written to the gradients.
//
// Oracle: `cases/unscale.rs`; agreement: bits, and for the sum of squares the bound of its terms.
//
// `unscale`: for each tensor, a workgroup of 256 for each of its chunks, or fewer, which stride; it leaves a partial for each.
// `unscale_join`, after all of them: one workgroup, which reads the partials of the whole set, in its order, and writes `found`
// and `owed`.
//
// All of it is integers, and what threads add and compare in common memory hangs on no order: the bits are the same on every
// driver. Squares are in fixed point below the chunk's largest element.

struct Params {
  len: u32,
  dtype: u32,
  // Elements before the first, in the binding of `values`.
  start: u32,
  parameter: u32,
  chunks: u32,
  // Of the set's partials, the tensor's first.
  first_partial: u32,
  // The word of `present` that says whether the gradient is there.
  flag: u32,
  // Elements of the tensor before these, of one that is looked at in parts.
  before: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read> present: array<u32>;
@group(0) @binding(3) var<storage, read> factors: Scale;
@group(0) @binding(4) var<storage, read_write> partials: array<Partial>;

var<workgroup> magnitude: atomic<u32>;
var<workgroup> largest: atomic<u32>;
var<workgroup> largest_finite: atomic<u32>;
var<workgroup> infinities: atomic<u32>;
var<workgroup> nans: atomic<u32>;
var<workgroup> first: atomic<u32>;
// Of one sum, or of three.
var<workgroup> limbs: array<atomic<u32>, 9>;

fn bits_of(i: u32) -> u32 {
  let element = params.start + i;
  return widened(params.dtype, code_in(params.dtype, values[word_of(params.dtype, element)], element));
}

fn clear() {
  atomicStore(&magnitude, 0u);
  atomicStore(&largest, 0u);
  atomicStore(&largest_finite, 0u);
  atomicStore(&infinities, 0u);
  atomicStore(&nans, 0u);
  atomicStore(&first, NOWHERE);
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

fn look(start: u32, end: u32) {
  var scaled_most = 0u;
  var most = 0u;
  var most_finite = 0u;
  for (var i = start; i < end; i += THREADS) {
    let bits = bits_of(i);
    let scaled = bits & MAGNITUDE_BITS;
    let unscaled = multiplied(bits, factors.inverse) & MAGNITUDE_BITS;
    let worse = max(scaled, unscaled);
    most = max(most, unscaled);
    scaled_most = max(scaled_most, select(0u, scaled, scaled < INFINITY_BITS));
    most_finite = max(most_finite, select(0u, unscaled, unscaled < INFINITY_BITS));
    if (worse >= INFINITY_BITS) {
      atomicAdd(&infinities, select(0u, 1u, worse == INFINITY_BITS));
      atomicAdd(&nans, select(0u, 1u, worse > INFINITY_BITS));
      atomicMin(&first, i);
    }
  }
  atomicMax(&magnitude, scaled_most);
  atomicMax(&largest, most);
  atomicMax(&largest_finite, most_finite);
}

fn add_squares(start: u32, end: u32, unit: i32) {
  var sum = vec2(0u);
  for (var i = start; i < end; i += THREADS) {
    let unscaled = multiplied(bits_of(i), factors.inverse) & MAGNITUDE_BITS;
    if (unscaled < INFINITY_BITS) {
      sum = plus(sum, squared(unscaled, unit));
    }
  }
  add_limbs(0u, shifted_right(sum, 8u));
}

// What one thread writes when all are done.
fn result_of(unit: i32) -> Partial {
  let index = atomicLoad(&first);
  var partial: Partial;
  partial.index = index;
  partial.parameter = params.parameter;
  if (index != NOWHERE) {
    partial.index = params.before + index;
    partial.scaled = bits_of(index);
  }
  partial.infinities = atomicLoad(&infinities);
  partial.nans = atomicLoad(&nans);
  partial.magnitude = atomicLoad(&magnitude);
  partial.largest = atomicLoad(&largest);
  // What was lowered by 8 bits, of 4^exponent each.
  partial.exponent = unit + 4;
  partial.squares = sum_at(0u);
  return partial;
}

@compute @workgroup_size(256)
fn unscale(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let is_there = present[params.flag] != 0u;
  for (var chunk = group.x; chunk < params.chunks; chunk += groups.x) {
    if (thread == 0u) {
      clear();
    }
    workgroupBarrier();
    let start = chunk * CHUNK + thread;
    // A gradient that is not there has no elements: nobody has written to it.
    let end = select(0u, min(chunk * CHUNK + CHUNK, params.len), is_there);
    look(start, end);
    workgroupBarrier();
    let unit = unit_of(atomicLoad(&largest_finite));
    add_squares(start, end, unit);
    workgroupBarrier();
    if (thread == 0u) {
      partials[params.first_partial + chunk] = result_of(unit);
    }
    workgroupBarrier();
  }
}

struct JoinParams {
  // Partials of the whole set.
  count: u32,
}

@group(0) @binding(0) var<uniform> join: JoinParams;
@group(0) @binding(1) var<storage, read> measured: array<Partial>;
@group(0) @binding(2) var<storage, read_write> found: Found;
@group(0) @binding(4) var<storage, read_write> owed: Owed;

var<workgroup> exponent: atomic<i32>;
var<workgroup> upper_infinities: atomic<u32>;
var<workgroup> upper_nans: atomic<u32>;

const NO_SQUARES = -0x7fffffff;

// Adds to two words in common memory; a carry that comes late is counted all the same.
fn add_infinities(count: u32) {
  let before = atomicAdd(&infinities, count);
  atomicAdd(&upper_infinities, select(0u, 1u, before + count < before));
}

fn add_nans(count: u32) {
  let before = atomicAdd(&nans, count);
  atomicAdd(&upper_nans, select(0u, 1u, before + count < before));
}

// All but the squares; `first` is the first partial that has an offender.
fn gather(thread: u32) {
  for (var i = thread; i < join.count; i += THREADS) {
    let partial = measured[i];
    atomicMax(&magnitude, partial.magnitude);
    atomicMax(&largest, partial.largest);
    add_infinities(partial.infinities);
    add_nans(partial.nans);
    if (partial.index != NOWHERE) {
      atomicMin(&first, i);
    }
    if (any(partial.squares != vec2(0u))) {
      atomicMax(&exponent, partial.exponent);
    }
  }
}

// What is cut off when squares are lowered by so many bits, its 32 highest bits.
fn cut_off(squares: vec2<u32>, dropped: u32) -> u32 {
  if (dropped > 32u) {
    return shifted_right(squares, dropped - 32u).x;
  }
  return shifted_left(squares, 32u - dropped).x;
}

// In units of 4^unit three sums, each of as many words as there are partials: of what is below a unit, and of the lower and the
// upper words of what is not. So nothing is lost that a small part of the largest could show, however many partials there are.
fn gather_squares(thread: u32, unit: i32) {
  var sums: array<vec2<u32>, 3>;
  for (var i = thread; i < join.count; i += THREADS) {
    let squares = measured[i].squares;
    // NaN: these are integers.
    let dropped = 2u * u32(clamp(unit - measured[i].exponent, 0, 64));
    let kept = shifted_right(squares, dropped);
    sums[0] = plus(sums[0], vec2(cut_off(squares, dropped), 0u));
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

fn offender() -> Found {
  var offence: Found;
  offence.parameter = NOBODY;
  let partial = atomicLoad(&first);
  if (partial != NOWHERE) {
    offence.raised = 1u;
    offence.parameter = measured[partial].parameter;
    offence.index = vec2(measured[partial].index, 0u);
    offence.scaled = measured[partial].scaled;
    offence.unscaled = multiplied(measured[partial].scaled, factors.inverse);
  }
  return offence;
}

fn write_join(unit: i32) {
  var result = offender();
  result.halted = factors.diverged;
  result.infinities = vec2(atomicLoad(&infinities), atomicLoad(&upper_infinities));
  result.nans = vec2(atomicLoad(&nans), atomicLoad(&upper_nans));
  result.magnitude = atomicLoad(&magnitude);
  found = result;
  let squares = joined(unit);
  owed = Owed(factors.inverse, 0x3f800000u, atomicLoad(&largest), squares.exponent, squares.sum);
}

@compute @workgroup_size(256)
fn unscale_join(@builtin(local_invocation_index) thread: u32) {
  if (thread == 0u) {
    clear();
    atomicStore(&exponent, NO_SQUARES);
    atomicStore(&upper_infinities, 0u);
    atomicStore(&upper_nans, 0u);
  }
  workgroupBarrier();
  gather(thread);
  workgroupBarrier();
  let unit = atomicLoad(&exponent);
  gather_squares(thread, unit);
  workgroupBarrier();
  if (thread == 0u) {
    write_join(unit);
  }
}
