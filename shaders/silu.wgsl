// The sigmoid linear unit x / (1 + e^-x), and its gradient.
//
// Oracle: `cases/silu.rs`; agreement: bound: 4 units of the last place before it is narrowed; the slope passes through 0, and is wrong
// by 2^-21 whatever its size.
//
// `silu`, `silu_backward`: a grid of any size strides over groups of four elements.
//
// Formulas are those of `kernels/silu.cu`; NaN and infinities are told by their bits.
//!use lib/math.wgsl
//!use lib/pointwise.wgsl

// From a magnitude of 120 on e^-|x| is 0 in f32, times the magnitude too.
fn magnitude_of(x: f32) -> f32 {
  return bitcast<f32>(min(bitcast<u32>(x) & MAGNITUDE_BITS, 0x42f00000u));
}

fn silu_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits) || bits == (SIGN_BIT | INFINITY_BITS)) {
    return float_of(INFINITY_BITS | QUIET_BIT);
  }
  let magnitude = magnitude_of(x);
  let e = exp_parts(-magnitude, 0.0);
  let inverse = 1.0 / (1.0 + value_of(e));
  if ((bits & SIGN_BIT) != 0u) {
    return value_of(Scaled(-magnitude * (e.significand * inverse), e.exponent));
  }
  return x * inverse;
}

// s * (1 + x * (1 - s)) with s = 1 / (1 + e^-x).
fn silu_slope(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nonfinite(bits)) {
    return float_of(INFINITY_BITS | QUIET_BIT);
  }
  let magnitude = magnitude_of(x);
  let e = exp_parts(-magnitude, 0.0);
  let inverse = 1.0 / (1.0 + value_of(e));
  if ((bits & SIGN_BIT) != 0u) {
    return value_of(Scaled((e.significand * inverse) * (1.0 - magnitude * inverse), e.exponent));
  }
  return inverse * (1.0 + magnitude * (value_of(e) * inverse));
}

fn unit(i: u32) -> u32 {
  return narrow(silu_of(value_of_a(i)));
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  return narrow(value_of_a(i) * silu_slope(value_of_b(i)));
}

@compute @workgroup_size(256)
fn silu(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(unit(i), unit(i + 1u), unit(i + 2u), unit(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn silu_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
