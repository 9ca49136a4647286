// Elementwise sum. Its gradients are the result's own, which needs no shader.
//
// Oracle: `cases/add.rs`; agreement: bits, any NaN for any NaN.
//
// `add`: a grid of any size strides over groups of four elements.
//
// Added in f32 and rounded to the element type once, as the plain loop does; what drivers may flush by its bits.
//!use lib/added.wgsl
//!use lib/pointwise.wgsl

fn sum(i: u32) -> u32 {
  return narrowed(params.dtype, added(bits_of_a(i), bits_of_b(i)));
}

@compute @workgroup_size(256)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = sum(i + k);
    }
    store(i, codes);
  }
}
