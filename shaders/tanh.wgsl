// The hyperbolic tangent, and its gradient.
//
// Oracle: `cases/tanh.rs`; agreement: bound: 3 units of the last place before it is narrowed.
//
// `tanh_forward`, `tanh` being a word of the language, and `tanh_backward`: a grid of any size strides over groups of four elements.
//
// Not the host's function; `lib/math.wgsl` has its formulas. Backward rounds y * y, 1 - y * y and the product, each once.
//!use lib/math.wgsl
//!use lib/pointwise.wgsl

fn tangent(i: u32) -> u32 {
  return narrow(tanh_of(value_of_a(i)));
}

// `a` is the gradient, `b` the output.
fn slope(i: u32) -> u32 {
  let y = value_of_b(i);
  return narrow(value_of_a(i) * (1.0 - y * y));
}

@compute @workgroup_size(256)
fn tanh_forward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
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
