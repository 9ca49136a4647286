// Gradients as values: what a set is still owed is multiplied in, then the factor of a gradient's group, and each element
// limited, into f32 tensors.
//
// Oracle: `Gradients::materialised` of binade-cpu, and `f32::clamp`; agreement: bits, any NaN for any NaN.
//
// `materialise`: a grid of any size strides over a tensor's elements. `limit` is infinite where nothing is to be limited.
//
// Products are exact among subnormals too, and magnitudes are compared as bits: a NaN stays one, whatever the limit.
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/state.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Elements before the first, in the binding of `values`.
  start: u32,
  // The word of `present` that says whether the gradient is there.
  flag: u32,
  // Which of the factors, or `NONE`.
  group: u32,
  // The bits of the largest magnitude that stays.
  limit: u32,
}

const NONE = 0xffffffffu;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read> present: array<u32>;
@group(0) @binding(3) var<storage, read> owed: Owed;
@group(0) @binding(4) var<storage, read> factors: array<u32>;
@group(0) @binding(5) var<storage, read_write> output: array<u32>;

fn limited(bits: u32) -> u32 {
  let magnitude = bits & MAGNITUDE_BITS;
  let is_beyond = magnitude > params.limit && magnitude <= INFINITY_BITS;
  return select(bits, (bits & SIGN_BIT) | params.limit, is_beyond);
}

fn settled(bits: u32) -> u32 {
  let value = multiplied(multiplied(bits, owed.inverse), owed.clip);
  if (params.group == NONE) {
    return limited(value);
  }
  return limited(multiplied(value, factors[params.group]));
}

@compute @workgroup_size(256)
fn materialise(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  // What is not there is zeros, for whoever reads it all the same.
  let is_there = present[params.flag] != 0u;
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    let element = params.start + i;
    let code = code_in(params.dtype, values[word_of(params.dtype, element)], element);
    output[i] = select(0u, settled(widened(params.dtype, code)), is_there);
  }
}
