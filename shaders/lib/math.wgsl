// Exponential, logarithm and hyperbolic tangent in f32, of sums, products and one quotient: the drivers' own are 17 units of the
// last place away, and worse near 0 and 1. Formulas and coefficients are those of `kernels/lib/math.cuh`; without a fused
// multiply-add each costs a rounding more, and where a driver fuses by itself one less.
//
// Errors are measured on the drivers that the tests run on, by `ops_gelu.rs`, `ops_tanh.rs` and `ops_log_softmax.rs`. NaN gives
// NaN, and is told by its bits, since comparisons may be anything.
//!use lib/half_bits.wgsl

// A float of bits that whoever compiles this does not know: browsers refuse an infinity that is a constant.
fn float_of(bits: u32) -> f32 {
  return bitcast<f32>(bits);
}

// significand * 2^exponent: what an exponential is before it may underflow, so that factors can be taken in first.
struct Scaled {
  significand: f32,
  exponent: i32,
}

// For exponents of -126 to 127.
fn power_of_two(exponent: i32) -> f32 {
  return bitcast<f32>(u32(exponent + 127) << 23u);
}

// Rounded once, as long as the significand is not below 2^-31: the first of two factors is exact. What may be subnormal is made by
// its bits, since drivers flush it.
fn value_of(x: Scaled) -> f32 {
  if (x.exponent < -64) {
    return bitcast<f32>(lowered(bitcast<u32>(x.significand), -x.exponent));
  }
  let half = x.exponent >> 1u;
  return (x.significand * power_of_two(half)) * power_of_two(x.exponent - half);
}

// Times 2^-by, rounded to nearest even.
fn lowered(bits: u32, by: i32) -> u32 {
  let exponent = i32((bits & MAGNITUDE_BITS) >> 23u);
  if (exponent == 0 || is_nonfinite(bits)) {
    return bits;
  }
  if (exponent > by) {
    return bits - (u32(by) << 23u);
  }
  let dropped = u32(min(1 + by - exponent, 25));
  return (bits & SIGN_BIT) | shifted_out((bits & 0x7fffffu) | 0x800000u, dropped);
}

// e^(x + low) for |x| <= 150 and a small `low`: 2^n * e^r with |r| <= ln 2 / 2. ln 2 comes off in two parts, the first of which
// has few enough bits that its product with `n` is exact.
fn exp_parts(x: f32, low: f32) -> Scaled {
  let n = round((x + low) * 1.44269504);
  let r = ((x - n * 0.693145752) - n * 1.42860677e-06) + low;
  // (e^r - 1 - r) / r^2, to 2^-28.2 of e^r.
  var rest = 0x1.6a244ap-10;
  rest = rest * r + 0x1.1239e2p-7;
  rest = rest * r + 0x1.5558f2p-5;
  rest = rest * r + 0x1.555492p-3;
  rest = rest * r + 0x1.fffffcp-2;
  return Scaled(1.0 + ((r * r) * rest + r), i32(n));
}

// e^x; beyond the limits it is infinite or 0.
fn exp_of(x: f32) -> f32 {
  return value_of(exp_scaled(x));
}

// e^x / divisor, of one from 1 to 2^30.
fn exp_over(x: f32, divisor: f32) -> f32 {
  let e = exp_scaled(x);
  return value_of(Scaled(e.significand / divisor, e.exponent));
}

fn exp_scaled(x: f32) -> Scaled {
  if (is_nan_bits(bitcast<u32>(x))) {
    return Scaled(x, 0);
  }
  // NaN: it went above.
  return exp_parts(clamp(x, -104.0, 89.0), 0.0);
}

// ln x: x = 2^n * (1 + f) with 1 + f between the roots of 1/2 and 2. That of a negative number is NaN, that of 0 -inf; those
// below the normal numbers are made normal by their bits, since a driver may take them for 0.
fn log_of(x: f32) -> f32 {
  var bits = bitcast<u32>(x);
  if ((bits & MAGNITUDE_BITS) == 0u) {
    return float_of(SIGN_BIT | INFINITY_BITS);
  }
  if (bits > INFINITY_BITS) {
    return float_of(INFINITY_BITS | QUIET_BIT);
  }
  if (bits == INFINITY_BITS) {
    return x;
  }
  var scale = 0;
  if (bits < 0x00800000u) {
    let up = 23u - firstLeadingBit(bits);
    bits <<= up;
    scale = -i32(up);
  }
  let n = bitcast<i32>(bits - 0x3f3504f3u) >> 23u;
  let f = bitcast<f32>(bits - (bitcast<u32>(n) << 23u)) - 1.0;
  // (ln(1 + f) - f) / f^2, to 2^-27.8 of ln(1 + f).
  var rest = -0x1.383080p-4;
  rest = rest * f + 0x1.084872p-3;
  rest = rest * f - 0x1.0f375ap-3;
  rest = rest * f + 0x1.22719ap-3;
  rest = rest * f - 0x1.54276ep-3;
  rest = rest * f + 0x1.99a3f2p-3;
  rest = rest * f - 0x1.000426p-2;
  rest = rest * f + 0x1.555550p-2;
  rest = rest * f - 0x1.fffff8p-2;
  return f32(n + scale) * 0.693147182 + ((f * f) * rest + f);
}

// tanh x: below 0.55 by itself, so that nothing cancels; above, 1 - 2 / (e^2x + 1).
fn tanh_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (is_nan_bits(bits)) {
    return x;
  }
  // Below 2^-13 it is its argument, which may be subnormal.
  if ((bits & MAGNITUDE_BITS) < 0x39000000u) {
    return x;
  }
  let magnitude = bitcast<f32>(bits & MAGNITUDE_BITS);
  var result = 1.0 - 2.0 / (exp_of(2.0 * magnitude) + 1.0);
  if (magnitude < 0.55) {
    // (tanh x / x - 1) / x^2 of x^2, to 2^-29.9 of tanh x / x.
    let square = magnitude * magnitude;
    var rest = -0x1.9bba40p-8;
    rest = rest * square + 0x1.595680p-6;
    rest = rest * square - 0x1.b92bbap-5;
    rest = rest * square + 0x1.110d3cp-3;
    rest = rest * square - 0x1.55554cp-2;
    result = (square * rest) * magnitude + magnitude;
  }
  return bitcast<f32>(bitcast<u32>(result) | (bits & SIGN_BIT));
}
