// A tensor of one value, in any of bf16, f16, f32.
//
// Oracle: `cases/cast/oracle.rs`, of the value; agreement: bits, NaN's payload among them.
//
// `fill`: a grid of any size strides over words.
//
// Each word is rounded by itself, to the same bits.
//!use lib/elements.wgsl

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
