// Elementwise product. Its gradients are products too.
//
// Oracle: `oracle/mul.rs`; agreement: bits, any NaN for any NaN, and 0 for subnormals where the driver flushes them.
//
// `mul`: a grid of any size strides over groups of four elements.
//
// Multiplied in f32 and rounded to the element type once, as the plain loop does.
//!use lib/pointwise.wgsl

fn product(i: u32) -> u32 {
  return narrow(value_of_a(i) * value_of_b(i));
}

@compute @workgroup_size(256)
fn mul(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(product(i), product(i + 1u), product(i + 2u), product(i + 3u)));
  }
}
