// Elementwise product. Its gradients are products too.
//
// Oracle: `cases/mul.rs`; agreement: bits, any NaN for any NaN.
//
// `mul`: a grid of any size strides over groups of four elements.
//
// Multiplied in f32 and rounded to the element type once, as the plain loop does; what drivers may flush by its bits.
//!use lib/multiply.wgsl
//!use lib/pointwise.wgsl

fn multiple(i: u32) -> u32 {
  return narrowed(params.dtype, multiplied(bits_of_a(i), bits_of_b(i)));
}

@compute @workgroup_size(256)
fn mul(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = multiple(i + k);
    }
    store(i, codes);
  }
}
