// One step of stochastic gradient descent on a parameter: momentum, dampening, Nesterov, weight decay.
//
// Oracle: `oracle/sgd.rs`; agreement: the bound of arithmetic that does not fuse products and sums.
//
// `sgd`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// Drivers may flush subnormals, and fuse what they like.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> momentum: array<u32>;

const NEGATIVE_LR = 0u;
const WEIGHT_DECAY = 1u;
const MOMENTUM = 2u;
const UNDAMPED = 3u;
const NESTEROV = 4u;

fn moved(i: u32) -> Moved {
  var slope = gradient_of(i);
  let before = value_at(i);
  if (constant(WEIGHT_DECAY) != 0.0) {
    slope = before * constant(WEIGHT_DECAY) + slope;
  }
  if (constant(MOMENTUM) != 0.0) {
    var mean = slope;
    if (constant(FIRST) == 0.0) {
      mean = slope * constant(UNDAMPED) + bitcast<f32>(momentum[i]) * constant(MOMENTUM);
    }
    momentum[i] = bitcast<u32>(mean);
    slope = select(mean, mean * constant(MOMENTUM) + slope, constant(NESTEROV) != 0.0);
  }
  let is_updated = params.counts != 0u && is_product(slope, constant(NEGATIVE_LR));
  return Moved(slope * constant(NEGATIVE_LR) + before, is_updated);
}

fn moved_within(i: u32) -> Moved {
  if (i >= params.len) {
    return Moved(0.0, false);
  }
  return moved(i);
}

@compute @workgroup_size(256)
fn sgd(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    save_group(i, array(moved_within(i), moved_within(i + 1u), moved_within(i + 2u), moved_within(i + 3u)));
  }
}
