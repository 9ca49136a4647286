// One step of Adam, AdamW or AMSGrad on a parameter.
//
// Oracle: `cases/adam.rs`; agreement: the bound of arithmetic that does not fuse products and sums, with quotients and roots
// within 2.5 units in the last place.
//
// `adam`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// What is added to a master, and what it shrinks to, keep subnormals. The moments and the quotient are by the driver's arithmetic,
// which may flush and fuse: in bits, all of it takes a driver on the CPU several times as long to compile.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> means: array<u32>;
@group(0) @binding(6) var<storage, read_write> squares: array<u32>;
@group(0) @binding(7) var<storage, read_write> largest: array<u32>;

// `AdamConstants`.
const ROOT_CORRECTION = 0u;
const NEGATIVE_STEP = 1u;
const SHRINK = 2u;
const WEIGHT_DECAY = 3u;
const MEAN_WEIGHT = 4u;
const BETA2 = 5u;
const SQUARE_WEIGHT = 6u;
const EPS = 7u;
const AMSGRAD = 8u;

const ONE = 0x3f800000u;

// torch's `lerp`: from whichever end is nearer.
fn lerp(start: f32, end: f32, weight: f32) -> f32 {
  let way = end - start;
  return select(end - way * (1.0 - weight), start + weight * way, weight < 0.5);
}

// torch's `maximum`: NaN if either is; of magnitudes, where NaN is largest.
fn maximum(a: u32, b: u32) -> u32 {
  return select(a, b, b > a);
}

fn float_at(place: u32) -> f32 {
  return bitcast<f32>(constant(place));
}

fn moved(i: u32) -> Moved {
  let kept = value_at(i);
  let before = multiplied(kept, constant(SHRINK));
  var slope = bitcast<f32>(gradient_of(i));
  if (is_nonzero(constant(WEIGHT_DECAY))) {
    slope = bitcast<f32>(before) * float_at(WEIGHT_DECAY) + slope;
  }
  let mean = lerp(bitcast<f32>(means[i]), slope, float_at(MEAN_WEIGHT));
  means[i] = bitcast<u32>(mean);
  let square = (float_at(SQUARE_WEIGHT) * slope) * slope + bitcast<f32>(squares[i]) * float_at(BETA2);
  squares[i] = bitcast<u32>(square);
  var second = bitcast<u32>(square);
  if (is_nonzero(constant(AMSGRAD))) {
    second = maximum(largest[i], second);
    largest[i] = second;
  }
  let denominator = sqrt(bitcast<f32>(second)) / float_at(ROOT_CORRECTION) + float_at(EPS);
  let change = multiplied(constant(NEGATIVE_STEP), bitcast<u32>(mean));
  let shrinks = constant(SHRINK) != ONE && is_nonzero(kept);
  let after = added(bitcast<u32>(bitcast<f32>(change) / denominator), before);
  return Moved(after, shrinks || is_nonzero(change));
}

@compute @workgroup_size(256)
fn adam(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
