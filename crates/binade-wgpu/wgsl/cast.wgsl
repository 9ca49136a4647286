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

// shaders/lib/codec.wgsl
// Rounding f32 among the codes of a narrower format, in integers: line for line `binade_core::cast::codec`, which says why it
// works.

// A format: bits of the significand that are stored, all but the sign's in ones, what infinity or NaN begins with, and the
// exponent of an f32 that is its first normal one.
struct Format {
  stored: u32,
  sign_bit: u32,
  most: u32,
  not_a_number: u32,
  first_normal: u32,
}

const OF_BF16 = Format(7u, 15u, 0x7f7fu, 0x7fc0u, 1u);
const OF_F16 = Format(10u, 15u, 0x7bffu, 0x7e00u, 113u);

// A magnitude as number / 2^point.
struct Fixed {
  number: u32,
  point: u32,
}

fn fixed_of(format: Format, magnitude: u32) -> Fixed {
  let exponent = magnitude >> 23u;
  let dropped = 23u - format.stored;
  if (exponent >= format.first_normal) {
    return Fixed(magnitude - ((format.first_normal - 1u) << 23u), dropped);
  }
  let significand = (magnitude & 0x7fffffu) | select(0x800000u, 0u, exponent == 0u);
  let point = dropped + format.first_normal - max(exponent, 1u);
  if (point <= 31u) {
    return Fixed(significand, point);
  }
  // 31 bits of fraction are kept, so that the sum with a random fraction fits in 32 bits.
  return Fixed(select(0u, significand >> ((point - 31u) & 31u), point <= 54u), 31u);
}

// What of a random word is added rounds up as often as the rest is large; beyond the largest lies infinity, or NaN.
fn stochastic(format: Format, bits: u32, random: u32) -> u32 {
  let fixed = fixed_of(format, bits & 0x7fffffffu);
  let code = (fixed.number + (random >> (32u - fixed.point))) >> fixed.point;
  let is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  let magnitude = select(min(code, format.most + 1u), format.not_a_number, is_nan);
  return magnitude | ((bits >> 31u) << format.sign_bit);
}

// shaders/lib/eight_bits.wgsl
// e4m3 and e5m2 beside bf16, f16 and f32, for casts and storage alone: four lie in a word, the first in its lowest bits.

// As `crate::dispatch::structs::stored_code` has them.
const E4M3 = 3u;
const E5M2 = 4u;

// e4m3 has no infinity: beyond the largest lies its NaN.
const OF_E4M3 = Format(3u, 7u, 0x7eu, 0x7fu, 121u);
const OF_E5M2 = Format(2u, 7u, 0x7bu, 0x7eu, 113u);

// Of a type that is narrower than f32.
fn format_of(dtype: u32) -> Format {
  if (dtype == E4M3) {
    return OF_E4M3;
  }
  if (dtype == E5M2) {
    return OF_E5M2;
  }
  if (dtype == F16) {
    return OF_F16;
  }
  return OF_BF16;
}

fn is_eight_bits(dtype: u32) -> bool {
  return dtype >= E4M3;
}

// The word that holds an element of any of the five.
fn any_word_of(dtype: u32, element: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return element >> 2u;
  }
  return word_of(dtype, element);
}

// The element's bits, of the word that holds it.
fn any_code_in(dtype: u32, word: u32, element: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return (word >> (8u * (element & 3u))) & 0xffu;
  }
  return code_in(dtype, word, element);
}

// The bits of the f32 that an element's bits stand for.
fn any_widened(dtype: u32, code: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return f32_of_code(format_of(dtype), code);
  }
  return widened(dtype, code);
}

// The element's bits for the bits of an f32, rounded to nearest even.
fn any_narrowed(dtype: u32, bits: u32) -> u32 {
  if (is_eight_bits(dtype)) {
    return nearest_code(format_of(dtype), bits);
  }
  return narrowed(dtype, bits);
}

// The bits of the f32 that a code stands for; NaN is quiet, and keeps its sign alone.
fn f32_of_code(format: Format, code: u32) -> u32 {
  let sign = (code >> format.sign_bit) << 31u;
  let magnitude = code & ((1u << format.sign_bit) - 1u);
  let dropped = 23u - format.stored;
  if (magnitude > format.most) {
    let is_infinity = magnitude == format.most + 1u && magnitude != format.not_a_number;
    return sign | select(INFINITY_BITS | QUIET_BIT, INFINITY_BITS, is_infinity);
  }
  if ((magnitude >> format.stored) != 0u) {
    return sign | ((magnitude << dropped) + ((format.first_normal - 1u) << 23u));
  }
  if (magnitude == 0u) {
    return sign;
  }
  // So many units of the smallest subnormal.
  let top = firstLeadingBit(magnitude);
  let exponent = format.first_normal - format.stored + top;
  return sign | (exponent << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
}

// To nearest, ties to even; beyond the largest lies infinity, or NaN.
fn nearest_code(format: Format, bits: u32) -> u32 {
  let fixed = fixed_of(format, bits & MAGNITUDE_BITS);
  let odd = (fixed.number >> fixed.point) & 1u;
  let code = (fixed.number + ((1u << (fixed.point - 1u)) - 1u) + odd) >> fixed.point;
  let magnitude = select(min(code, format.most + 1u), format.not_a_number, is_nan_bits(bits));
  return magnitude | ((bits >> 31u) << format.sign_bit);
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

// shaders/cast.wgsl
// From one of bf16, f16, f32, e4m3 and e5m2 to another, or to itself: a copy.
//
// Oracles: `cases/cast/oracle.rs`, `cases/stochastic_cast.rs`; agreement: bits, NaN's payload among them where it is not stochastic.
//
// `cast_elements`, `cast` being a word of the language: a grid of any size strides over groups of four elements. Elements of a type that stays keep their bits, but for infinities where `saturates`.
// `cast_stochastic` rounds up or down by the random words of (seed, step, parameter, element), in the same grid.
//
// In integers alone: nothing departs from the oracle on any driver.

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  to: u32,
  // Elements before the first of `input`, in its binding; `output` begins with its own.
  start: u32,
  // Whether what is too large for a narrow type becomes its largest finite number, infinities too.
  saturates: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

// The largest finite code, under one that overflowed from a number or an infinity.
fn within(to: u32, code: u32, bits: u32) -> u32 {
  let format = format_of(to);
  let magnitude = code & ((1u << format.sign_bit) - 1u);
  return select(code, code - 1u, magnitude == format.most + 1u && !is_nan_bits(bits));
}

fn code_at(dtype: u32, element: u32) -> u32 {
  return any_code_in(dtype, input[any_word_of(dtype, element)], element);
}

fn converted(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let code = code_at(params.dtype, params.start + i);
  let bits = any_widened(params.dtype, code);
  var narrow = code;
  if (params.to != params.dtype) {
    narrow = any_narrowed(params.to, bits);
  }
  if (params.saturates == 0u || params.to == F32) {
    return narrow;
  }
  return within(params.to, narrow, bits);
}

// Writes four codes from an element on that is a multiple of four, as many as there are.
fn put(to: u32, i: u32, len: u32, codes: vec4<u32>) {
  if (is_eight_bits(to)) {
    output[i / 4u] = codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
  } else if (to == F32) {
    for (var k = 0u; k < GROUP && i + k < len; k++) {
      output[i + k] = codes[k];
    }
  } else {
    output[i / 2u] = codes.x | (codes.y << 16u);
    if (i + 2u < len) {
      output[i / 2u + 1u] = codes.z | (codes.w << 16u);
    }
  }
}

@compute @workgroup_size(256)
fn cast_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let codes = vec4(converted(i), converted(i + 1u), converted(i + 2u), converted(i + 3u));
    put(params.to, i, params.len, codes);
  }
}

struct StochasticParams {
  len: u32,
  dtype: u32,
  to: u32,
  start: u32,
  // What names the random words.
  seed_low: u32,
  seed_high: u32,
  step: u32,
  parameter: u32,
  // Groups of the tensor before the first of these.
  block_low: u32,
  block_high: u32,
}

@group(0) @binding(0) var<uniform> chance: StochasticParams;

fn drawn(i: u32, random: u32) -> u32 {
  if (i >= chance.len) {
    return 0u;
  }
  let bits = any_widened(chance.dtype, code_at(chance.dtype, chance.start + i));
  if (chance.to == F32) {
    return bits;
  }
  return stochastic(format_of(chance.to), bits, random);
}

@compute @workgroup_size(256)
fn cast_stochastic(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < chance.len; i += stride(groups)) {
    let block = plus(vec2(chance.block_low, chance.block_high), vec2(i / GROUP, 0u));
    let random = words_of(vec2(chance.seed_low, chance.seed_high), chance.step, chance.parameter, block);
    let codes = vec4(
      drawn(i, random.x), drawn(i + 1u, random.y), drawn(i + 2u, random.z), drawn(i + 3u, random.w));
    put(chance.to, i, chance.len, codes);
  }
}
