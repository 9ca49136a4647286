// A tensor times the scale, or its inverse, in f32.
//
// Oracle: `cases/scale.rs`; agreement: bits, any NaN for any NaN.
//
// `scale`: a grid of any size strides over elements.
//
// What drivers flush is multiplied in integers: subnormal gradients are what a scale is for.
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/state.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Elements before the first, in the binding of `input`.
  start: u32,
  is_inverse: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read> factors: Scale;
@group(0) @binding(3) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(256)
fn scale(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let factor = select(factors.factor, factors.inverse, params.is_inverse != 0u);
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    let element = params.start + i;
    let code = code_in(params.dtype, input[word_of(params.dtype, element)], element);
    output[i] = multiplied(widened(params.dtype, code), factor);
  }
}
