// A norm, and the factor that clips by it, from a sum of squares in integers: of 60 bits, and rounded once each.
//!use lib/squares.wgsl

// root * 2^exponent, of a root with 60 bits, the last of which is 1 where anything was cut off.
struct Root {
  root: vec2<u32>,
  exponent: i32,
}

// Of a sum that is not 0: digit by digit, two bits of the sum for each.
fn root_of(squares: Squares) -> Root {
  // By an even number, so that a root has half as many.
  let shift = leading_zeros(squares.sum) & 62u;
  var left = shifted_left(squares.sum, shift);
  var rest = vec2(0u);
  var found = vec2(0u);
  for (var bit = 0u; bit < 60u; bit++) {
    rest = shifted_left(rest, 2u) | vec2(left.y >> 30u, 0u);
    left = shifted_left(left, 2u);
    let candidate = shifted_left(found, 2u) | vec2(1u, 0u);
    let fits = !is_less(rest, candidate);
    rest = minus(rest, select(vec2(0u), candidate, fits));
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  let sticky = select(0u, 1u, any(rest != vec2(0u)));
  // 32 digits are the sum's own.
  return Root(found | vec2(sticky, 0u), squares.exponent - i32(shift / 2u) - 28);
}

// Of a magnitude that is finite and not 0.
fn root_of_square(magnitude: u32) -> Root {
  let parts = parts_of(magnitude);
  return Root(shifted_left(vec2(parts.significand, 0u), 36u), parts.exponent - 36);
}

// The bits of the f32 nearest to it.
fn rounded_root(norm: Root) -> u32 {
  return nearest(norm.root, norm.exponent);
}

// The bits of the f32 nearest to most / norm, or of 1 where that is more; `most` is positive and finite.
fn clip_factor(most: u32, norm: Root) -> u32 {
  let of_most = root_of_square(most);
  return min(nearest(ratio(of_most.root, norm.root), of_most.exponent - norm.exponent - 55), 0x3f800000u);
}
