// The factor that clips a set of gradients by its norm, and the norm in the verdict.
//
// Oracles: `binade_grad_scaler::{record_norm, clip_factor}`; agreement: bits, given the sum of squares.
//
// `clip`: one invocation, which writes where it reads.
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

fn clipped() -> Clip {
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
  if (params.norm == L2) {
    norm = root_of(Squares(owed.squares, owed.exponent));
  }
  if (params.most == INFINITY_BITS) {
    return Clip(rounded_root(norm), ONE);
  }
  return Clip(rounded_root(norm), clip_factor(params.most, norm));
}

@compute @workgroup_size(1)
fn clip() {
  let result = clipped();
  owed.clip = result.factor;
  verdict.has_norm = 1u;
  verdict.norm = result.norm;
  if (is_nonfinite(result.norm) && verdict.raised == 0u) {
    verdict.raised = 1u;
    verdict.parameter = THE_NORM;
    verdict.index = vec2(0u);
    verdict.scaled = result.norm;
    verdict.unscaled = result.norm;
  }
}
