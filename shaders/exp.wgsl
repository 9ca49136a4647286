// The exponential, and its gradient.
//
// Oracle: `cases/exp.rs`; agreement: bound: 2 units of the last place before it is narrowed.
//
// `exp_forward`, `exp` being a word of the language, and `exp_backward`: a grid of any size strides over groups of four elements.
//
// Not the host's function; `lib/math.wgsl` has its formulas. Backward is a product by its bits, since drivers may flush.
//!use lib/math.wgsl
//!use lib/multiply.wgsl
//!use lib/pointwise.wgsl

fn exponential(i: u32) -> u32 {
  return narrow(exp_of(value_of_a(i)));
}

// `a` is the gradient, `b` the output.
fn slope(i: u32) -> u32 {
  return narrowed(params.dtype, multiplied(bits_of_a(i), bits_of_b(i)));
}

@compute @workgroup_size(256)
fn exp_forward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(exponential(i), exponential(i + 1u), exponential(i + 2u), exponential(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn exp_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k);
    }
    store(i, codes);
  }
}
