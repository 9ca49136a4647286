// Joins what two passes found.
//
// Oracle: `binade_grad_scaler::join_findings`; agreement: bits.
//
// `merge`: one invocation, which writes where the first of the two was.
//
// Magnitudes are compared as bits: they have no sign and are no NaN.
//!use lib/wide.wgsl
//!use lib/state.wgsl

struct Params {
  // Whether both must have overflowed.
  all: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> joined: Found;
@group(0) @binding(2) var<storage, read> other: Found;

@compute @workgroup_size(1)
fn merge() {
  var found = joined;
  if (found.raised == 0u && other.raised != 0u) {
    found.parameter = other.parameter;
    found.index = other.index;
    found.rank = other.rank;
    found.scaled = other.scaled;
    found.unscaled = other.unscaled;
  }
  let both = joined.raised != 0u && other.raised != 0u;
  let either = joined.raised != 0u || other.raised != 0u;
  let has_overflowed = select(either, both, params.all != 0u);
  found.raised = select(0u, 1u, has_overflowed);
  found.parameter = select(NOBODY, found.parameter, has_overflowed);
  found.rank = select(0u, found.rank, has_overflowed);
  found.halted = select(0u, 1u, (joined.halted | other.halted) != 0u);
  found.infinities = plus(joined.infinities, other.infinities);
  found.nans = plus(joined.nans, other.nans);
  found.magnitude = max(joined.magnitude, other.magnitude);
  joined = found;
}
