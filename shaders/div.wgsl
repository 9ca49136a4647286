// Elementwise quotient, and the gradient of the divisor. That of what is divided is a quotient too.
//
// Oracle: `cases/div.rs`; agreement: bound: 2.5 units of the last place for a quotient, before it is narrowed.
//
// `div_forward`, `div_backward`: a grid of any size strides over groups of four elements.
//
// Each step is rounded in f32, and the result to the element type once, as the plain loop does; what drivers may flush by its bits.
//!use lib/divide.wgsl
//!use lib/pointwise.wgsl

@group(0) @binding(4) var<storage, read> c: array<u32>;

fn divided_pair(i: u32) -> u32 {
  return narrowed(params.dtype, divided(bits_of_a(i), bits_of_b(i)));
}

fn bits_of_c(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let element = params.c_start + i;
  return widened(params.dtype, code_in(params.dtype, c[word_of(params.dtype, element)], element));
}

// -a * (b / c) / c, where `a` is the gradient.
fn of_divisor(i: u32) -> u32 {
  let divisor = bits_of_c(i);
  let product = multiplied(bits_of_a(i), divided(bits_of_b(i), divisor));
  return narrowed(params.dtype, divided(product, divisor) ^ SIGN_BIT);
}

@compute @workgroup_size(256)
fn div_forward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = divided_pair(i + k);
    }
    store(i, codes);
  }
}

@compute @workgroup_size(256)
fn div_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = of_divisor(i + k);
    }
    store(i, codes);
  }
}
