// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/fault.wgsl
// An index or label that points nowhere, left for the host, which reports it with a download or a step's report: one of them,
// of however many, whichever the driver runs first. The host's twin is `faults.rs`.

struct Fault {
  // 1 once there is one.
  is_taken: atomic<u32>,
  op: u32,
  index_low: u32,
  index_high: u32,
  position: u32,
  limit: u32,
}

@group(0) @binding(7) var<storage, read_write> fault: Fault;

// As `faults.rs` numbers those that take indices.
const EMBEDDING = 0u;
const CROSS_ENTROPY = 1u;

fn leave_fault(op: u32, index: vec2<u32>, position: u32, limit: u32) {
  if (atomicMax(&fault.is_taken, 1u) == 0u) {
    fault.op = op;
    fault.index_low = index.x;
    fault.index_high = index.y;
    fault.position = position;
    fault.limit = limit;
  }
}

// Of an i64: whether it is of 0..limit.
fn is_below(index: vec2<u32>, limit: u32) -> bool {
  return index.y == 0u && index.x < limit;
}

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

// shaders/lib/math.wgsl
// Exponential, logarithm and hyperbolic tangent in f32, of sums, products and one quotient: the drivers' own are 17 units of the
// last place away, and worse near 0 and 1. Formulas and coefficients are those of `kernels/lib/math.cuh`; without a fused
// multiply-add each costs a rounding more, and where a driver fuses by itself one less.
//
// Errors are measured on the drivers that the tests run on, by `ops_gelu.rs`, `ops_tanh.rs` and `ops_log_softmax.rs`. NaN gives
// NaN, and is told by its bits, since comparisons may be anything.

// A float of bits that whoever compiles this does not know: browsers refuse an infinity that is a constant.
fn float_of(bits: u32) -> f32 {
  return bitcast<f32>(bits);
}

// significand * 2^exponent: what an exponential is before it may underflow, so that factors can be taken in first.
struct Scaled {
  significand: f32,
  exponent: i32,
}

// For exponents of -126 to 127.
fn power_of_two(exponent: i32) -> f32 {
  return bitcast<f32>(u32(exponent + 127) << 23u);
}

// Rounded once, as long as the significand is not below 2^-31: the first of two factors is exact. What may be subnormal is made by
// its bits, since drivers flush it.
fn value_of(x: Scaled) -> f32 {
  if (x.exponent < -64) {
    return bitcast<f32>(lowered(bitcast<u32>(x.significand), -x.exponent));
  }
  let half = x.exponent >> 1u;
  return (x.significand * power_of_two(half)) * power_of_two(x.exponent - half);
}

// Times 2^-by, rounded to nearest even.
fn lowered(bits: u32, by: i32) -> u32 {
  let exponent = i32((bits & MAGNITUDE_BITS) >> 23u);
  if (exponent == 0 || is_nonfinite(bits)) {
    return bits;
  }
  if (exponent > by) {
    return bits - (u32(by) << 23u);
  }
  let dropped = u32(min(1 + by - exponent, 25));
  return (bits & SIGN_BIT) | shifted_out((bits & 0x7fffffu) | 0x800000u, dropped);
}

// e^(x + low) for |x| <= 150 and a small `low`: 2^n * e^r with |r| <= ln 2 / 2. ln 2 comes off in two parts, the first of which
// has few enough bits that its product with `n` is exact.
fn exp_parts(x: f32, low: f32) -> Scaled {
  let n = round((x + low) * 1.44269504);
  let r = ((x - n * 0.693145752) - n * 1.42860677e-06) + low;
  // (e^r - 1 - r) / r^2, to 2^-28.2 of e^r.
  var rest = 0x1.6a244ap-10;
  rest = rest * r + 0x1.1239e2p-7;
  rest = rest * r + 0x1.5558f2p-5;
  rest = rest * r + 0x1.555492p-3;
  rest = rest * r + 0x1.fffffcp-2;
  return Scaled(1.0 + ((r * r) * rest + r), i32(n));
}

// e^x; beyond the limits it is infinite or 0.
fn exp_of(x: f32) -> f32 {
  return value_of(exp_scaled(x));
}

// e^x / divisor, of one from 1 to 2^30.
fn exp_over(x: f32, divisor: f32) -> f32 {
  let e = exp_scaled(x);
  return value_of(Scaled(e.significand / divisor, e.exponent));
}

fn exp_scaled(x: f32) -> Scaled {
  if (is_nan_bits(bitcast<u32>(x))) {
    return Scaled(x, 0);
  }
  // NaN: it went above.
  return exp_parts(clamp(x, -104.0, 89.0), 0.0);
}

// ln x: x = 2^n * (1 + f) with 1 + f between the roots of 1/2 and 2. That of a negative number is NaN, that of 0 -inf; those
// below the normal numbers are made normal by their bits, since a driver may take them for 0.
fn log_of(x: f32) -> f32 {
  var bits = bitcast<u32>(x);
  if ((bits & MAGNITUDE_BITS) == 0u) {
    return float_of(SIGN_BIT | INFINITY_BITS);
  }
  if (bits > INFINITY_BITS) {
    return float_of(INFINITY_BITS | QUIET_BIT);
  }
  if (bits == INFINITY_BITS) {
    return x;
  }
  var scale = 0;
  if (bits < 0x00800000u) {
    let up = 23u - firstLeadingBit(bits);
    bits <<= up;
    scale = -i32(up);
  }
  let n = bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
  let f = bitcast<f32>(bits - (bitcast<u32>(n) << 23u)) - 1.0;
  // (ln(1 + f) - f) / f^2, to 2^-27.8 of ln(1 + f).
  var rest = -0x1.383080p-4;
  rest = rest * f + 0x1.084872p-3;
  rest = rest * f - 0x1.0f375ap-3;
  rest = rest * f + 0x1.22719ap-3;
  rest = rest * f - 0x1.54276ep-3;
  rest = rest * f + 0x1.99a3f2p-3;
  rest = rest * f - 0x1.000426p-2;
  rest = rest * f + 0x1.555550p-2;
  rest = rest * f - 0x1.fffff8p-2;
  return f32(n + scale) * 0.693147182 + ((f * f) * rest + f);
}

// tanh x: below 0.55 by itself, so that nothing cancels; above, 1 - 2 / (e^2x + 1).
fn tanh_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  // Below 2^-13 it is its argument, which may be subnormal.
  if ((bits & MAGNITUDE_BITS) < 0x39000000u) {
    return x;
  }
  let magnitude = bitcast<f32>(bits & MAGNITUDE_BITS);
  var result = 1.0 - 2.0 / (exp_of(2.0 * magnitude) + 1.0);
  if (magnitude < 0.55) {
    // (tanh x / x - 1) / x^2 of x^2, to 2^-29.9 of tanh x / x.
    let square = magnitude * magnitude;
    var rest = -0x1.9bba40p-8;
    rest = rest * square + 0x1.595680p-6;
    rest = rest * square - 0x1.b92bbap-5;
    rest = rest * square + 0x1.110d3cp-3;
    rest = rest * square - 0x1.55554cp-2;
    result = (square * rest) * magnitude + magnitude;
  }
  return bitcast<f32>(bitcast<u32>(result) | (bits & SIGN_BIT));
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

// shaders/lib/teams.wgsl
// Sums and largest elements over teams of neighbouring invocations of a group of 256. All of the group must come; each gets its
// team's. Halves are joined until one is left, so that the order is always the same.

var<workgroup> lanes: array<f32, 256>;

// `team` is a power of two, the same for all.
fn sum_of_team(value: f32, thread: u32, team: u32) -> f32 {
  lanes[thread] = value;
  workgroupBarrier();
  for (var distance = team / 2u; distance > 0u; distance /= 2u) {
    if ((thread & (team - 1u)) < distance) {
      lanes[thread] += lanes[thread + distance];
    }
    workgroupBarrier();
  }
  let sum = lanes[thread & ~(team - 1u)];
  // Before somebody writes what is joined next.
  workgroupBarrier();
  return sum;
}

// Passes over NaN, or gives it: who asks finds it in what comes of the elements.
fn largest_of_team(value: f32, thread: u32, team: u32) -> f32 {
  lanes[thread] = value;
  workgroupBarrier();
  for (var distance = team / 2u; distance > 0u; distance /= 2u) {
    if ((thread & (team - 1u)) < distance) {
      lanes[thread] = max(lanes[thread], lanes[thread + distance]);
    }
    workgroupBarrier();
  }
  let largest = lanes[thread & ~(team - 1u)];
  workgroupBarrier();
  return largest;
}

// shaders/lib/rows.wgsl
// Rows of the last axis: first two numbers of each row by a team of invocations, then the elements one by one with their row's
// numbers. So elements of neighbouring rows may share a word, and a group of four may cross rows.

struct Params {
  // Elements that are gone through one by one.
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Of the tensor in front of the first of `len`, and rows in front of the first of `rows`.
  first: u32,
  rows: u32,
  width: u32,
  // Invocations that share a row: a power of two that follows from the width.
  team: u32,
  // Places before the first, in the bindings of the rows' numbers where they are written, of labels and of the gradient.
  at: u32,
  labels_start: u32,
  grad_start: u32,
  divisor: f32,
  // Of weights and biases, where there are such: places before the first, and their type.
  weight_start: u32,
  bias_start: u32,
  parameter_dtype: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Two for each row.
@group(0) @binding(4) var<storage, read> numbers: array<f32>;

// Rows that a group does at a time.
fn rows_at_once() -> u32 {
  return THREADS / params.team;
}

fn leave_numbers(row: u32, thread: u32, first: f32, second: f32) {
  if (row < params.rows && thread % params.team == 0u) {
    output[params.at + 2u * row] = bitcast<u32>(first);
    output[params.at + 2u * row + 1u] = bitcast<u32>(second);
  }
}

// The largest element of a row, and the sum of the exponentials of what the others fall short of it by. NaN comes out in the sum.
fn normaliser(row: u32, thread: u32) -> vec2<f32> {
  let width = select(0u, params.width, row < params.rows);
  var largest = float_of(SIGN_BIT | INFINITY_BITS);
  for (var i = thread % params.team; i < width; i += params.team) {
    largest = max(largest, a_at(row * params.width + i));
  }
  largest = largest_of_team(largest, thread, params.team);
  var sum = 0.0;
  for (var i = thread % params.team; i < width; i += params.team) {
    sum += exp_of(a_at(row * params.width + i) - largest);
  }
  sum = sum_of_team(sum, thread, params.team);
  return vec2(largest, sum);
}

// shaders/cross_entropy.wgsl
// The mean over the rows of -log_softmax(logits)[label], and the gradient of the logits.
//
// Oracle: `cases/cross_entropy.rs`; agreement: bound: all in f32. What a row is normalised by comes from `softmax_numbers`, and the
// mean of the rows' losses from `sum`.
//
// `cross_entropy`: a grid of any size strides over rows, an invocation each, and leaves a loss for each. `cross_entropy_backward`:
// a grid of any size strides over groups of four elements.
//
// A row whose label is no class is NaN and left in `fault`; nothing beyond the row is read.

@group(0) @binding(5) var<storage, read> labels: array<u32>;
@group(0) @binding(6) var<storage, read> grad: array<f32>;

fn label_of(row: u32) -> vec2<u32> {
  let at = params.labels_start + 2u * row;
  return vec2(labels[at], labels[at + 1u]);
}

fn slope(i: u32, factor: f32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  let column = params.first + i - row * params.width;
  let label = label_of(row);
  if (!is_below(label, params.width)) {
    if (column == 0u) {
      leave_fault(CROSS_ENTROPY, label, row, params.width);
    }
    return narrow(float_of(INFINITY_BITS | QUIET_BIT));
  }
  let share = exp_over(a_at(i) - numbers[2u * row], numbers[2u * row + 1u]);
  let rest = bitcast<u32>(select(share, share - 1.0, column == label.x));
  return narrowed(params.dtype, multiplied(rest, bitcast<u32>(factor)));
}

@compute @workgroup_size(256)
fn cross_entropy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var row = id.x; row < params.rows; row += groups.x * THREADS) {
    let label = label_of(params.first + row);
    var loss = float_of(INFINITY_BITS | QUIET_BIT);
    if (is_below(label, params.width)) {
      let of_row = 2u * (params.first + row);
      loss = log_of(numbers[of_row + 1u]) - (a_at(row * params.width + label.x) - numbers[of_row]);
    } else {
      leave_fault(CROSS_ENTROPY, label, params.first + row, params.width);
    }
    output[params.at + row] = bitcast<u32>(loss);
  }
}

@compute @workgroup_size(256)
fn cross_entropy_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let factor = grad[params.grad_start] / params.divisor;
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k, factor);
    }
    store(i, codes);
  }
}
