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

// shaders/lib/pointwise.wgsl
// Operands `a` and `b` and an output of one type, element by element; the output begins where its binding does.

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  // Elements before the first, in the bindings of `a` and `b`.
  a_start: u32,
  b_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// shaders/tanh.wgsl
// The hyperbolic tangent, and its gradient.
//
// Oracle: `cases/tanh.rs`; agreement: bound: 3 units of the last place before it is narrowed.
//
// `tanh_elements`, `tanh` being a word of the language, and `tanh_backward`: a grid of any size strides over groups of four elements.
//
// Not the host's function; `lib/math.wgsl` has its formulas. Backward rounds y * y, 1 - y * y and the product, each once.

fn tangent(i: u32) -> u32 {
  return narrow(tanh_of(value_of_a(i)));
}

// `a` is the gradient, `b` the output.
fn slope(i: u32) -> u32 {
  let y = value_of_b(i);
  return narrow(value_of_a(i) * (1.0 - y * y));
}

@compute @workgroup_size(256)
fn tanh_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(tangent(i), tangent(i + 1u), tangent(i + 2u), tangent(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn tanh_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
