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

// shaders/lib/operands.wgsl
// Operands `a` and `b` and an output. A shader's parameters have `len`, elements that are gone through; `dtype`, that of the
// operands; `a_start` and `b_start`, elements before the first in their bindings. The output begins where its binding does.
//!asks params
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<u32>;

// The bits of element `i` of `a`; 0 beyond the last.
fn code_of_a(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let element = params.a_start + i;
  return code_in(params.dtype, a[word_of(params.dtype, element)], element);
}

fn code_of_b(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let element = params.b_start + i;
  return code_in(params.dtype, b[word_of(params.dtype, element)], element);
}

// Those of the f32 that it is.
fn bits_of_a(i: u32) -> u32 {
  return widened(params.dtype, code_of_a(i));
}

fn bits_of_b(i: u32) -> u32 {
  return widened(params.dtype, code_of_b(i));
}

fn value_of_a(i: u32) -> f32 {
  return bitcast<f32>(bits_of_a(i));
}

fn value_of_b(i: u32) -> f32 {
  return bitcast<f32>(bits_of_b(i));
}

fn narrow(value: f32) -> u32 {
  return narrowed(params.dtype, bitcast<u32>(value));
}

// Element `i` of `a`, which must be there.
fn a_code_at(i: u32) -> u32 {
  let element = params.a_start + i;
  return code_in(params.dtype, a[word_of(params.dtype, element)], element);
}

fn a_at(i: u32) -> f32 {
  return bitcast<f32>(widened(params.dtype, a_code_at(i)));
}

fn b_at(i: u32) -> f32 {
  let element = params.b_start + i;
  return bitcast<f32>(widened(params.dtype, code_in(params.dtype, b[word_of(params.dtype, element)], element)));
}

// A group of elements from `first` on, which is a multiple of GROUP; those beyond the last leave no trace.
fn store(first: u32, codes: vec4<u32>) {
  store_as(params.dtype, first, codes);
}

// The same of elements of another type.
fn store_as(dtype: u32, first: u32, codes: vec4<u32>) {
  if (dtype == F32) {
    for (var k = 0u; k < GROUP && first + k < params.len; k++) {
      output[first + k] = codes[k];
    }
    return;
  }
  output[first / 2u] = codes.x | (codes.y << 16u);
  if (first + 2u < params.len) {
    output[first / 2u + 1u] = codes.z | (codes.w << 16u);
  }
}

// shaders/lib/philox.wgsl
// Philox4x32-10 as `binade_core::stochastic` has it: random words that depend on nothing but a name.

fn philox(name: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var counter = name;
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    let first = product(0xd2511f53u, counter.x);
    let second = product(0xcd9e8d57u, counter.z);
    counter = vec4(second.y ^ counter.y ^ key.x, second.x, first.y ^ counter.w ^ key.y, first.x);
    key += vec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}

// The words of elements 4 * block to 4 * block + 3.
fn words_of(seed: vec2<u32>, step: u32, parameter: u32, block: vec2<u32>) -> vec4<u32> {
  return philox(vec4(block, step, parameter), seed);
}

// shaders/dropout.wgsl
// Zeroes elements by the random words of a key and multiplies the rest; the gradient likewise, by the same shader.
//
// Oracle: `cases/dropout.rs`; agreement: bits, any NaN for any NaN.
//
// `dropout`: a grid of any size strides over groups of four elements, for which one block of four random words is made.
//
// Element i's word is the one it has on every device. `key` is seed and counter, read on the device.

struct Params {
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Blocks of four elements in front of the first.
  first: u32,
  // Words before the first in the key's binding.
  key_start: u32,
  // Words below it drop.
  threshold: u32,
  factor: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> key: array<u32>;

fn kept(i: u32, word: u32) -> u32 {
  let product = multiplied(bits_of_a(i), bitcast<u32>(params.factor));
  return select(narrowed(params.dtype, product), 0u, word < params.threshold);
}

@compute @workgroup_size(256)
fn dropout(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let at = params.key_start;
  let seed = vec2(key[at], key[at + 1u]);
  // The complement keeps off the words that round parameters, which are numbered from 0.
  let step = key[at + 2u];
  let parameter = ~key[at + 3u];
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let words = words_of(seed, step, parameter, vec2(params.first + i / GROUP, 0u));
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = kept(i + k, words[k]);
    }
    store(i, codes);
  }
}
