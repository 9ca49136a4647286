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

// shaders/lib/added.wgsl
// The sum of two f32 rounded to nearest even, subnormals kept, which drivers may flush.

// Below this exponent a number times 2^149 is in range still, and above it no sum with anything is subnormal.
const MOST_RAISED = 100u;

// Times 2^149, which makes subnormals whole numbers: by bits, so that nothing is flushed.
fn raised(bits: u32) -> f32 {
  let magnitude = bits & MAGNITUDE_BITS;
  let of_subnormal = bitcast<u32>(f32(magnitude));
  let value = select(magnitude + (149u << 23u), of_subnormal, magnitude < 0x800000u);
  return bitcast<f32>(value | (bits & SIGN_BIT));
}

fn added(a: u32, b: u32) -> u32 {
  let exponents = max((a & MAGNITUDE_BITS) >> 23u, (b & MAGNITUDE_BITS) >> 23u);
  if (exponents >= MOST_RAISED) {
    return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
  }
  let sum = bitcast<u32>(raised(a) + raised(b));
  let magnitude = bitcast<f32>(sum & MAGNITUDE_BITS);
  // Whole numbers up to 2^24 are codes.
  if (magnitude < 16777216.0) {
    return (sum & SIGN_BIT) | u32(magnitude);
  }
  return sum - (149u << 23u);
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

// shaders/add.wgsl
// Elementwise sum. Its gradients are the result's own, which needs no shader.
//
// Oracle: `cases/add.rs`; agreement: bits, any NaN for any NaN.
//
// `add`: a grid of any size strides over groups of four elements.
//
// Added in f32 and rounded to the element type once, as the plain loop does; what drivers may flush by its bits.

fn sum(i: u32) -> u32 {
  return narrowed(params.dtype, added(bits_of_a(i), bits_of_b(i)));
}

@compute @workgroup_size(256)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = sum(i + k);
    }
    store(i, codes);
  }
}
