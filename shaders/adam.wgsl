// One step of Adam, AdamW or AMSGrad on a parameter.
//
// Oracle: `oracle/adam.rs`; agreement: the bound of arithmetic that does not fuse products and sums, with quotients and roots
// within 2.5 units in the last place.
//
// `adam`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// Drivers may flush subnormals, and fuse what they like.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> means: array<u32>;
@group(0) @binding(6) var<storage, read_write> squares: array<u32>;
@group(0) @binding(7) var<storage, read_write> largest: array<u32>;

const SHRINK = 0u;
const WEIGHT_DECAY = 1u;
const MEAN_WEIGHT = 2u;
const BETA2 = 3u;
const SQUARE_WEIGHT = 4u;
const EPS = 6u;
const AMSGRAD = 8u;

// torch's `lerp`: from whichever end is nearer.
fn lerp(start: f32, end: f32, weight: f32) -> f32 {
  let way = end - start;
  return select(end - way * (1.0 - weight), start + weight * way, weight < 0.5);
}

// torch's `maximum`: NaN if either is; of magnitudes, where NaN is largest.
fn maximum(a: u32, b: u32) -> u32 {
  return select(a, b, b > a);
}

fn moved(i: u32) -> Moved {
  let kept = value_at(i);
  let before = kept * constant(SHRINK);
  var slope = gradient_of(i);
  if (constant(WEIGHT_DECAY) != 0.0) {
    slope = before * constant(WEIGHT_DECAY) + slope;
  }
  let mean = lerp(bitcast<f32>(means[i]), slope, constant(MEAN_WEIGHT));
  means[i] = bitcast<u32>(mean);
  let square = (constant(SQUARE_WEIGHT) * slope) * slope + bitcast<f32>(squares[i]) * constant(BETA2);
  squares[i] = bitcast<u32>(square);
  var second = bitcast<u32>(square);
  if (constant(AMSGRAD) != 0.0) {
    second = maximum(largest[i], second);
    largest[i] = second;
  }
  let denominator = sqrt(bitcast<f32>(second)) / constant(ROOT_CORRECTION) + constant(EPS);
  let shrinks = constant(SHRINK) != 1.0 && (bitcast<u32>(kept) & MAGNITUDE_BITS) != 0u;
  let is_updated = params.counts != 0u && (shrinks || is_product(constant(NEGATIVE_STEP), mean));
  return Moved(before + (constant(NEGATIVE_STEP) * mean) / denominator, is_updated);
}

fn moved_within(i: u32) -> Moved {
  if (i >= params.len) {
    return Moved(0.0, false);
  }
  return moved(i);
}

@compute @workgroup_size(256)
fn adam(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    save_group(i, array(moved_within(i), moved_within(i + 1u), moved_within(i + 2u), moved_within(i + 3u)));
  }
}
