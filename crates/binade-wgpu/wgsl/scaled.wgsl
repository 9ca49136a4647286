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

// shaders/lib/lost.wgsl
// Whether updates changed anything, counted: `applied` is `Applied`, four words each, of which the last two are counted in here.
//!asks applied, params

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

// shaders/scaled.wgsl
// Masters in f16 with an exponent a tensor: opened as f32 for a step, and packed again by an exponent of the tensor's largest.
//
// Oracle: `cases/scaled_f16.rs`; agreement: bits. The exponent is `stores/scaled.rs`'s.
//
// `scaled_open` gives the f32 copy that `sgd` or `adam` moves; `scaled_largest`, behind the step, looks for the largest finite
// magnitude, and `scaled_pack` rounds. Each is a grid of any size, and does nothing where the step is skipped.
//
// In integers alone, and a maximum has no order: no driver and no grid shows. Where `counts` is not 0 an element of the copy is two
// words, the second of which says whether the step had anything to add, and the last entry counts lost updates.

struct Params {
  len: u32,
  // The word of `stepped` that is 0 where the step is skipped.
  flag: u32,
  // The parameter's number.
  slot: u32,
  counts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> stepped: array<u32>;
// What one entry leaves to the next: the bits of the largest finite magnitude, and the exponent that was.
@group(0) @binding(2) var<storage, read_write> between: array<atomic<u32>, 2>;
@group(0) @binding(3) var<storage, read_write> exponent: array<i32>;
// f16, times 2 to the exponent.
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> wide: array<u32>;
// For `lib/lost.wgsl`.
@group(0) @binding(6) var<storage, read_write> applied: array<atomic<u32>>;

const TOP = 14;
const MOST = 125;
const BIAS = 127;

var<workgroup> largest: atomic<u32>;

// The bits of 2 to an exponent of a normal number.
fn power(by: i32) -> u32 {
  return u32(by + BIAS) << 23u;
}

fn exponent_of(magnitude: u32) -> i32 {
  if (magnitude == 0u) {
    return 0;
  }
  return min(TOP + BIAS - max(i32(magnitude >> 23u), 1), MOST);
}

fn word_of_wide(i: u32) -> u32 {
  return select(i, 2u * i, params.counts != 0u);
}

fn code_at(i: u32) -> u32 {
  return code_in(F16, values[word_of(F16, i)], i);
}

fn unpacked(code: u32, by: i32) -> u32 {
  return multiplied(f32_of_f16(code), power(-by));
}

fn end() -> u32 {
  return select(0u, params.len, stepped[params.flag] != 0u);
}

@compute @workgroup_size(256)
fn scaled_open(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let now = exponent[0];
  if (id.x == 0u && stepped[params.flag] != 0u) {
    atomicStore(&between[0], 0u);
    atomicStore(&between[1], bitcast<u32>(now));
  }
  for (var i = id.x; i < end(); i += groups.x * THREADS) {
    wide[word_of_wide(i)] = unpacked(code_at(i), now);
  }
}

@compute @workgroup_size(256)
fn scaled_largest(
  @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  if (thread == 0u) {
    atomicStore(&largest, 0u);
  }
  workgroupBarrier();
  var most = 0u;
  for (var i = id.x; i < end(); i += groups.x * THREADS) {
    let magnitude = wide[word_of_wide(i)] & MAGNITUDE_BITS;
    most = max(most, select(0u, magnitude, magnitude < INFINITY_BITS));
  }
  atomicMax(&largest, most);
  workgroupBarrier();
  if (thread == 0u) {
    atomicMax(&between[0], atomicLoad(&largest));
  }
}

// The code that an element is kept as, or 0 beyond the last.
fn packed(i: u32, now: i32, old: i32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let code = f16_of_f32(multiplied(wide[word_of_wide(i)], power(now)));
  if (params.counts != 0u) {
    count_update(unpacked(code_at(i), old), unpacked(code, now), wide[2u * i + 1u] != 0u);
  }
  return code;
}

@compute @workgroup_size(256)
fn scaled_pack(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let now = exponent_of(atomicLoad(&between[0]));
  let old = bitcast<i32>(atomicLoad(&between[1]));
  if (id.x == 0u && stepped[params.flag] != 0u) {
    exponent[0] = now;
  }
  for (var i = 2u * id.x; i < end(); i += 2u * groups.x * THREADS) {
    let first = packed(i, now, old);
    values[i / 2u] = first | (packed(i + 1u, now, old) << 16u);
  }
}
