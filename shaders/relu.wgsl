// The rectified linear unit, and its gradient.
//
// Oracle: `cases/relu.rs`; agreement: bits, any NaN for any NaN.
//
// `relu`, `relu_backward`: a grid of any size strides over groups of four elements.
//
// Nothing is computed: what is at most 0 is told by its bits, so that NaN passes and no driver flushes anything.
//!use lib/pointwise.wgsl

// `output <= 0`, which no NaN is.
fn is_at_most_zero(code: u32) -> bool {
  let bits = widened(params.dtype, code);
  let magnitude = bits & MAGNITUDE_BITS;
  return magnitude == 0u || ((bits & SIGN_BIT) != 0u && magnitude <= INFINITY_BITS);
}

fn rectified(i: u32) -> u32 {
  let code = code_of_a(i);
  return select(code, 0u, is_at_most_zero(code));
}

// `a` is the gradient, `b` what the unit gave.
fn passed(i: u32) -> u32 {
  return select(code_of_a(i), 0u, is_at_most_zero(code_of_b(i)));
}

@compute @workgroup_size(256)
fn relu(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(rectified(i), rectified(i + 1u), rectified(i + 2u), rectified(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn relu_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(passed(i), passed(i + 1u), passed(i + 2u), passed(i + 3u)));
  }
}
