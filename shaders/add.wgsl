// Elementwise sum. Its gradients are the result's own, which needs no shader.
//
// Oracle: `oracle/add.rs`; agreement: bits, any NaN for any NaN, and 0 for subnormals where the driver flushes them.
//
// `add`: a grid of any size strides over groups of four elements.
//
// Added in f32 and rounded to the element type once, as the plain loop does.
//!use lib/pointwise.wgsl

fn sum(i: u32) -> u32 {
  return narrow(value_of_a(i) + value_of_b(i));
}

@compute @workgroup_size(256)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(sum(i), sum(i + 1u), sum(i + 2u), sum(i + 3u)));
  }
}
