// Elementwise difference, and the gradient of what is taken off.
//
// Oracle: `cases/sub.rs`; agreement: bits, any NaN for any NaN.
//
// `sub`, `sub_backward`: a grid of any size strides over groups of four elements.
//
// Subtracted in f32 and rounded to the element type once, as the plain loop does; what drivers may flush by its bits.
//!use lib/added.wgsl
//!use lib/pointwise.wgsl

fn difference(i: u32) -> u32 {
  return narrowed(params.dtype, added(bits_of_a(i), bits_of_b(i) ^ SIGN_BIT));
}

fn opposite(i: u32) -> u32 {
  return narrowed(params.dtype, bits_of_a(i) ^ SIGN_BIT);
}

@compute @workgroup_size(256)
fn sub(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = difference(i + k);
    }
    store(i, codes);
  }
}

@compute @workgroup_size(256)
fn sub_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(opposite(i), opposite(i + 1u), opposite(i + 2u), opposite(i + 3u)));
  }
}
