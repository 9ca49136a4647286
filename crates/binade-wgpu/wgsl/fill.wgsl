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

// shaders/fill.wgsl
// A tensor of one value, in any of bf16, f16, f32.
//
// Oracle: `cases/cast/oracle.rs`, of the value; agreement: bits, NaN's payload among them.
//
// `fill`: a grid of any size strides over words.
//
// Each word is rounded by itself, to the same bits.

struct Params {
  // Words.
  len: u32,
  dtype: u32,
  // The value's bits, as an f32.
  value: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let code = narrowed(params.dtype, params.value);
  let word = select(code | (code << 16u), code, params.dtype == F32);
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    output[i] = word;
  }
}
