// The factor that clips a set of gradients by its norm, and the norm in the verdict.
//
// Oracles: `binade_grad_scaler::{record_norm, check_group_norm, clip_factor}`; agreement: bits, given the sum of squares, but
// that those round to an f64 first, and so once in 2^28 to another f32.
//
// `clip`: one invocation, which writes where it reads. `clip_group`: the same of a group of a set, whose factor goes into a word of
// its own and whose norm into the verdict only where it is not finite; groups one after another, so that the first is named.
//
// A norm that is not finite as f32 raises the verdict, and counts no element. Roots and quotients are integers', since the
// driver's are not rounded.
//!use lib/norm.wgsl
//!use lib/state.wgsl

const L2 = 0u;

struct Params {
  norm: u32,
  // The bits of the largest norm that stays.
  most: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> verdict: Found;
@group(0) @binding(2) var<storage, read_write> owed: Owed;

const ONE = 0x3f800000u;

struct Clip {
  norm: u32,
  factor: u32,
}

fn clipped(kind: u32, most: u32) -> Clip {
  if (owed.largest > INFINITY_BITS) {
    return Clip(QUIET_NAN, ONE);
  }
  if (owed.largest == INFINITY_BITS) {
    return Clip(INFINITY_BITS, 0u);
  }
  if (owed.largest == 0u) {
    return Clip(0u, ONE);
  }
  var norm = root_of_square(owed.largest);
  if (kind == L2) {
    norm = root_of(Squares(owed.squares, owed.exponent));
  }
  if (most == INFINITY_BITS) {
    return Clip(rounded_root(norm), ONE);
  }
  return Clip(rounded_root(norm), clip_factor(most, norm));
}

fn check(norm: u32, name: u32) {
  if (is_nonfinite(norm) && verdict.raised == 0u) {
    verdict.raised = 1u;
    verdict.parameter = name;
    verdict.index = vec2(0u);
    verdict.scaled = norm;
    verdict.unscaled = norm;
  }
}

@compute @workgroup_size(1)
fn clip() {
  let result = clipped(params.norm, params.most);
  owed.clip = result.factor;
  verdict.has_norm = 1u;
  verdict.norm = result.norm;
  check(result.norm, THE_NORM);
}

struct GroupParams {
  norm: u32,
  most: u32,
  // What its norm goes by where it is not finite.
  name: u32,
  // Which of the factors is the group's.
  place: u32,
}

@group(0) @binding(0) var<uniform> of_group: GroupParams;
@group(0) @binding(3) var<storage, read_write> factors: array<u32>;

@compute @workgroup_size(1)
fn clip_group() {
  let result = clipped(of_group.norm, of_group.most);
  factors[of_group.place] = result.factor;
  check(result.norm, of_group.name);
}
