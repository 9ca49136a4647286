// One step of stochastic gradient descent on a parameter: momentum, dampening, Nesterov, weight decay.
//
// Oracle: `cases/sgd.rs`; agreement: the bound of arithmetic that does not fuse products and sums.
//
// `sgd`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// By `lib/step.wgsl`'s sums and products, which keep subnormals and are not fused.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> momentum: array<u32>;

// `SgdConstants`.
const FIRST = 0u;
const NEGATIVE_LR = 1u;
const WEIGHT_DECAY = 2u;
const MOMENTUM = 3u;
const UNDAMPED = 4u;
const NESTEROV = 5u;

fn moved(i: u32) -> Moved {
  var slope = gradient_of(i);
  let before = value_at(i);
  if (is_nonzero(constant(WEIGHT_DECAY))) {
    slope = product_and(before, constant(WEIGHT_DECAY), slope);
  }
  if (is_nonzero(constant(MOMENTUM))) {
    var mean = slope;
    if (!is_nonzero(constant(FIRST))) {
      mean = product_and(slope, constant(UNDAMPED), multiplied(momentum[i], constant(MOMENTUM)));
    }
    momentum[i] = mean;
    if (is_nonzero(constant(NESTEROV))) {
      slope = product_and(mean, constant(MOMENTUM), slope);
    } else {
      slope = mean;
    }
  }
  let change = multiplied(slope, constant(NEGATIVE_LR));
  return Moved(added(change, before), is_nonzero(change));
}

@compute @workgroup_size(256)
fn sgd(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
