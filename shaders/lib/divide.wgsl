// The quotient of two f32, by its bits where an operand or the result is not normal: drivers may flush those. Subnormals are rounded
// to nearest even. Elsewhere it is the driver's, which may be 2.5 units of the last place away.
//!use lib/multiply.wgsl

// True if the driver's own quotient is right: operands and result are normal whatever is rounded. A driver may multiply by a
// reciprocal, which is subnormal for a divisor of 2^126 and above.
fn is_normal_quotient(x: u32, y: u32) -> bool {
  let are_normal = min(x, y) >= 0x800000u && x < INFINITY_BITS && y < 0x7e800000u;
  let above = x >> 23u;
  let below = y >> 23u;
  return are_normal && above + 125u >= below && above <= below + 126u;
}

// left / right of 24 bits each, with 40 bits behind the point, of which the last is set if there is a rest.
fn long_quotient(left: u32, right: u32) -> vec2<u32> {
  var quotient = vec2(left / right, 0u);
  var rest = left % right;
  for (var digit = 0u; digit < 5u; digit++) {
    quotient = shifted_left(quotient, 8u);
    quotient.x |= (rest << 8u) / right;
    rest = (rest << 8u) % right;
  }
  quotient.x |= select(0u, 1u, rest != 0u);
  return quotient;
}

fn divided(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & SIGN_BIT;
  let x = a & MAGNITUDE_BITS;
  let y = b & MAGNITUDE_BITS;
  if (is_normal_quotient(x, y)) {
    return bitcast<u32>(bitcast<f32>(a) / bitcast<f32>(b));
  }
  if (max(x, y) > INFINITY_BITS) {
    return QUIET_NAN;
  }
  if (x == INFINITY_BITS || y == 0u) {
    return select(sign | INFINITY_BITS, QUIET_NAN, y == INFINITY_BITS || x == 0u);
  }
  if (x == 0u || y == INFINITY_BITS) {
    return sign;
  }
  let left = parts_of(x);
  let right = parts_of(y);
  return sign | nearest(long_quotient(left.significand, right.significand), left.exponent - right.exponent - 40);
}
