// One step of Adam, AdamW or AMSGrad on a parameter.
//
// Oracle: `oracle/adam.rs`; agreement: the bound of arithmetic that does not fuse products and sums, with quotients and roots
// within 2.5 units in the last place.
//
// `adam`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// By `lib/step.wgsl`'s sums and products, which keep subnormals and are not fused. Roots, quotients and the denominator are the
// driver's, which may flush them.
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

const ONE = 0x3f800000u;

// torch's `lerp`: from whichever end is nearer.
fn lerp(start: u32, end: u32, weight: f32) -> u32 {
  let way = difference(end, start);
  if (weight < 0.5) {
    return product_and(bitcast<u32>(weight), way, start);
  }
  return difference(end, multiplied(way, bitcast<u32>(1.0 - weight)));
}

// torch's `maximum`: NaN if either is; of magnitudes, where NaN is largest.
fn maximum(a: u32, b: u32) -> u32 {
  return select(a, b, b > a);
}

// What the mean is divided by, of the bits of the mean square.
fn denominator_of(square: u32) -> f32 {
  return sqrt(bitcast<f32>(square)) / bitcast<f32>(constant(ROOT_CORRECTION)) + bitcast<f32>(constant(EPS));
}

fn moved(i: u32) -> Moved {
  let kept = value_at(i);
  let before = multiplied(kept, constant(SHRINK));
  var slope = gradient_of(i);
  if (is_nonzero(constant(WEIGHT_DECAY))) {
    slope = product_and(before, constant(WEIGHT_DECAY), slope);
  }
  let mean = lerp(means[i], slope, bitcast<f32>(constant(MEAN_WEIGHT)));
  means[i] = mean;
  let share = multiplied(constant(SQUARE_WEIGHT), slope);
  let square = product_and(share, slope, multiplied(squares[i], constant(BETA2)));
  squares[i] = square;
  var second = square;
  if (is_nonzero(constant(AMSGRAD))) {
    second = maximum(largest[i], second);
    largest[i] = second;
  }
  let change = multiplied(constant(NEGATIVE_STEP), mean);
  let shrinks = constant(SHRINK) != ONE && is_nonzero(kept);
  let after = added(bitcast<u32>(bitcast<f32>(change) / denominator_of(second)), before);
  return Moved(after, shrinks || is_nonzero(change));
}

@compute @workgroup_size(256)
fn adam(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
