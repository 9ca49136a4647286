// The approximation x / (1 + e^-z) of the Gaussian error linear unit, z = 2 sqrt(2 / pi) (x + 0.044715 x^3), and its gradient.
//
// Oracle: `cases/gelu_tanh.rs`; agreement: bound: 9 units of the last place and 2 |z| before it is narrowed; backward by the same mass,
// since the slope passes through 0.
//
// `gelu_tanh`, `gelu_tanh_backward`: a grid of any size strides over groups of four elements.
//
// Formulas are those of `kernels/gelu_tanh.cu`; NaN is told by its bits.
//!use lib/math.wgsl
//!use lib/pointwise.wgsl

// |x|, e^-|z|, 1 / (1 + e^-|z|), and the derivative of z.
struct Approximation {
  magnitude: f32,
  e: Scaled,
  value: f32,
  inverse: f32,
  steepness: f32,
}

fn approximation(x: f32) -> Approximation {
  // From a magnitude of 16 on e^-|z| is 0 in f32, times z's derivative too.
  let magnitude = bitcast<f32>(min(bitcast<u32>(x) & MAGNITUDE_BITS, 0x41800000u));
  let square = magnitude * magnitude;
  let e = exp_parts(-min(magnitude * (square * 0.0713548163 + 1.59576912), 120.0), 0.0);
  let value = value_of(e);
  return Approximation(magnitude, e, value, 1.0 / (1.0 + value), square * 0.214064449 + 1.59576912);
}

fn gelu_tanh_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  let by = approximation(x);
  if ((bits & SIGN_BIT) != 0u) {
    return value_of(Scaled(-by.magnitude * (by.e.significand * by.inverse), by.e.exponent));
  }
  return x * by.inverse;
}

// s * (1 + x * z' * (1 - s)) with s = 1 / (1 + e^-z).
fn gelu_tanh_slope(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  let by = approximation(x);
  let product = by.magnitude * by.steepness;
  if ((bits & SIGN_BIT) != 0u) {
    return value_of(Scaled((by.e.significand * by.inverse) * (1.0 - product * by.inverse), by.e.exponent));
  }
  return by.inverse * (1.0 + product * (by.value * by.inverse));
}

fn unit(i: u32) -> u32 {
  return narrow(gelu_tanh_of(value_of_a(i)));
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  return narrow(value_of_a(i) * gelu_tanh_slope(value_of_b(i)));
}

@compute @workgroup_size(256)
fn gelu_tanh(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(unit(i), unit(i + 1u), unit(i + 2u), unit(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn gelu_tanh_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
