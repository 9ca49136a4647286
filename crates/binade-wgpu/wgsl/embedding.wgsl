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

// shaders/embedding.wgsl
// Rows of a table, by index, and the gradient of the table.
//
// Oracle: `cases/embedding.rs`; agreement: bits, any NaN for any NaN where gradients are summed, and 0 for subnormals where the
// driver flushes them.
//
// `embedding`, `embedding_backward`: a grid of any size strides over groups of four elements, of the result and of the table.
//
// An index that points nowhere is left in `fault`, its row is NaN, and backward passes over it. Backward sums in f32 and in the
// order of the indices, without atomics: each element of the table looks through all indices, which is slow for large tables.

struct Params {
  len: u32,
  dtype: u32,
  // Of the table, or of the gradient.
  a_start: u32,
  b_start: u32,
  // Elements of the result in front of the first.
  first: u32,
  rows: u32,
  width: u32,
  // Indices, and words before the first in their binding.
  count: u32,
  indices_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> indices: array<u32>;

fn index_at(position: u32) -> vec2<u32> {
  let at = params.indices_start + 2u * position;
  return vec2(indices[at], indices[at + 1u]);
}

fn looked_up(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let position = (params.first + i) / params.width;
  let column = params.first + i - position * params.width;
  let index = index_at(position);
  if (!is_below(index, params.rows)) {
    if (column == 0u) {
      leave_fault(EMBEDDING, index, position, params.rows);
    }
    return narrowed(params.dtype, INFINITY_BITS | QUIET_BIT);
  }
  return a_code_at(index.x * params.width + column);
}

@compute @workgroup_size(256)
fn embedding(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(looked_up(i), looked_up(i + 1u), looked_up(i + 2u), looked_up(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn embedding_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let at = params.first + i + vec4(0u, 1u, 2u, 3u);
    let rows = at / params.width;
    let columns = at - rows * params.width;
    var sums = vec4(0.0);
    for (var position = 0u; position < params.count; position++) {
      let index = index_at(position);
      if (!is_below(index, params.rows)) {
        if (at.x == 0u) {
          leave_fault(EMBEDDING, index, position, params.rows);
        }
        continue;
      }
      for (var k = 0u; k < GROUP; k++) {
        if (rows[k] == index.x) {
          sums[k] += a_at(position * params.width + columns[k]);
        }
      }
    }
    store(i, vec4(narrow(sums.x), narrow(sums.y), narrow(sums.z), narrow(sums.w)));
  }
}
