// The square root, and its gradient.
//
// Oracle: `cases/sqrt.rs`; agreement: bound: 5 units of the last place before it is narrowed.
//
// `sqrt_forward`, `sqrt` being a word of the language, and `sqrt_backward`: a grid of any size strides over groups of four elements.
//
// A subnormal operand is made normal first, since drivers may flush it, and a sign is told by its bits. Backward is a quotient by its bits
// where a driver may flush.
//!use lib/divide.wgsl
//!use lib/pointwise.wgsl

fn root_of(bits: u32) -> u32 {
  if ((bits & MAGNITUDE_BITS) == 0u || bits == INFINITY_BITS) {
    return bits;
  }
  if (bits > INFINITY_BITS) {
    return QUIET_NAN;
  }
  if (bits < 0x800000u) {
    // The number is its bits times 2^-149.
    return bitcast<u32>(sqrt(f32(bits) * 2.0) * 0x1p-75f);
  }
  return bitcast<u32>(sqrt(bitcast<f32>(bits)));
}

fn square_root(i: u32) -> u32 {
  return narrowed(params.dtype, root_of(bits_of_a(i)));
}

// `a` is the gradient, `b` the output: a root is no subnormal number, so that a driver doubles it.
fn slope(i: u32) -> u32 {
  return narrowed(params.dtype, divided(bits_of_a(i), bitcast<u32>(2.0 * value_of_b(i))));
}

@compute @workgroup_size(256)
fn sqrt_forward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(square_root(i), square_root(i + 1u), square_root(i + 2u), square_root(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn sqrt_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k);
    }
    store(i, codes);
  }
}
