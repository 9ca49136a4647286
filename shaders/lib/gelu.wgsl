// The Gaussian error linear unit x * P(x), where P is the normal distribution function, and its slope. Neither goes through
// erf, from which P's lower tail would be a difference of equals: both are exp(-x^2 / 2) times Mills' ratio, which is smooth.
// Formulas and coefficients are those of `kernels/lib/gelu.cuh`.
//!use lib/math.wgsl

// From here on exp(-x^2 / 2) is 0 in f32, whatever it is multiplied by below. Callers look for NaN.
fn within_tails(x: f32) -> f32 {
  return bitcast<f32>(min(bitcast<u32>(x) & MAGNITUDE_BITS, 0x41800000u));
}

// exp(-x^2 / 2): the square of x's upper bits is exact, and what it falls short by is (x + upper) * (x - upper).
fn bell(x: f32) -> Scaled {
  let upper = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return exp_parts(-0.5 * (upper * upper), -0.5 * ((x + upper) * (x - upper)));
}

// (1 - P(x)) / exp(-x^2 / 2) for 0 <= x <= 16.
fn mills(x: f32) -> f32 {
  // That times x + 3, of (x - 3) / (x + 3), to 2^-29.9.
  let at = (x - 3.0) / (x + 3.0);
  var shape = 0x1.c948ecp-15;
  shape = shape * at + 0x1.13877ap-13;
  shape = shape * at - 0x1.0099bcp-12;
  shape = shape * at - 0x1.0eb128p-10;
  shape = shape * at + 0x1.0ca0aep-10;
  shape = shape * at + 0x1.c8bdc0p-8;
  shape = shape * at - 0x1.56d5e0p-7;
  shape = shape * at - 0x1.832d0ap-5;
  shape = shape * at + 0x1.d71384p-3;
  shape = shape * at - 0x1.04c72ap-1;
  shape = shape * at + 0x1.754a76p-1;
  return shape / (x + 3.0);
}

fn gelu_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  let magnitude = within_tails(x);
  let e = bell(magnitude);
  let tail = mills(magnitude) * e.significand;
  if ((bits & SIGN_BIT) != 0u) {
    return value_of(Scaled(-magnitude * tail, e.exponent));
  }
  return x - magnitude * value_of(Scaled(tail, e.exponent));
}

// P(x) + x * exp(-x^2 / 2) / sqrt(2 pi).
fn gelu_slope(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  let magnitude = within_tails(x);
  let e = bell(magnitude);
  let tail = value_of(Scaled((mills(magnitude) - magnitude * 0.398942280) * e.significand, e.exponent));
  return select(1.0 - tail, tail, (bits & SIGN_BIT) != 0u);
}
