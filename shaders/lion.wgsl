// One step of Lion on a parameter: the sign of a mean of gradients, decoupled weight decay.
//
// Oracle: `cases/lion.rs`; agreement: the bound of arithmetic that does not fuse products and sums.
//
// `lion`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// By `lib/step.wgsl`'s sums and products, which keep subnormals and are not fused.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> momentum: array<u32>;

// `LionConstants`.
const NEGATIVE_LR = 1u;
const SHRINK = 2u;
// Behind it: beta1, the gradient's weight beside it, beta2, and the gradient's weight beside that.

const ONE = 0x3f800000u;

// The sign of `mixed` times the negative rate: NaN for NaN, and for a zero the one that changes no bit of a sum.
fn change_by(mixed: u32) -> u32 {
  if (is_nan_bits(mixed)) {
    return mixed;
  }
  return select(SIGN_BIT, constant(NEGATIVE_LR) ^ (mixed & SIGN_BIT), is_nonzero(mixed));
}

fn moved(i: u32) -> Moved {
  let slope = gradient_of(i);
  let kept = value_at(i);
  let before = momentum[i];
  // In a loop, since drivers put the functions where they are called: five times over, one of them took minutes to compile.
  var terms = array<u32, 5>(kept, before, slope, before, slope);
  for (var k = 0u; k < 5u; k++) {
    terms[k] = multiplied(terms[k], constant(SHRINK + k));
  }
  momentum[i] = added(terms[3], terms[4]);
  let change = change_by(added(terms[1], terms[2]));
  let shrinks = constant(SHRINK) != ONE && is_nonzero(kept);
  return Moved(added(change, terms[0]), shrinks || is_nonzero(change));
}

@compute @workgroup_size(256)
fn lion(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
