// The Gaussian error linear unit in its exact form, and its gradient.
//
// Oracle: `cases/gelu.rs`; agreement: bound: 6 units of the last place before it is narrowed; the slope passes through 0, and
// is wrong by 2^-22 whatever its size.
//
// `gelu`, `gelu_backward`: a grid of any size strides over groups of four elements.
//
// All in f32, where the CPU rounds a result of f64.
//!use lib/gelu.wgsl
//!use lib/pointwise.wgsl

fn unit(i: u32) -> u32 {
  return narrow(gelu_of(value_of_a(i)));
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  return narrow(value_of_a(i) * gelu_slope(value_of_b(i)));
}

@compute @workgroup_size(256)
fn gelu(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(unit(i), unit(i + 1u), unit(i + 2u), unit(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn gelu_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
