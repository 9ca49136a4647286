// A norm, and the factor that clips by it, from a sum of squares in integers: rounded once each.
//!use lib/squares.wgsl

// root * 2^exponent, of a root with 32 bits, and whether it was rounded down.
struct Root {
  root: u32,
  exponent: i32,
  is_inexact: bool,
}

// Of a sum that is not 0.
fn root_of(squares: Squares) -> Root {
  // By an even number, so that a root has half as many.
  let shift = leading_zeros(squares.sum) & 62u;
  let raised = shifted_left(squares.sum, shift);
  let found = root(raised).x;
  return Root(found, squares.exponent - i32(shift / 2u), any(product(found, found) != raised));
}

// Of a magnitude that is finite and not 0.
fn root_of_square(magnitude: u32) -> Root {
  let parts = parts_of(magnitude);
  return Root(parts.significand << 8u, parts.exponent - 8, false);
}

// The bits of the f32 nearest to it.
fn rounded_root(norm: Root) -> u32 {
  let sticky = select(0u, 1u, norm.is_inexact);
  return nearest(shifted_left(vec2(norm.root, 0u), 16u) | vec2(sticky, 0u), norm.exponent - 16);
}

// The bits of the f32 nearest to most / norm, or of 1 where that is more; `most` is positive and finite.
fn clip_factor(most: u32, norm: Root) -> u32 {
  let parts = parts_of(most);
  var rest = parts.significand;
  var found = vec2(0u);
  for (var bit = 0u; bit < 55u; bit++) {
    let carries = (rest >> 31u) != 0u;
    rest <<= 1u;
    let fits = carries || rest >= norm.root;
    rest -= select(0u, norm.root, fits);
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  let sticky = select(0u, 1u, rest != 0u);
  return min(nearest(found | vec2(sticky, 0u), parts.exponent - 55 - norm.exponent), 0x3f800000u);
}
