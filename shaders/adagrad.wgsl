// One step of Adagrad on a parameter: the sum of squares, and coupled weight decay.
//
// Oracle: `cases/adagrad.rs`; agreement: the bound of arithmetic that does not fuse products and sums, with quotients and roots
// within 2.5 units in the last place.
//
// `adagrad`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// The term added to a master keeps subnormals. The sum and the quotient are by the driver's arithmetic, which may flush and fuse.
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> sums: array<u32>;

// `AdagradConstants`.
const NEGATIVE_STEP = 1u;
const WEIGHT_DECAY = 2u;
const EPS = 3u;

fn float_at(place: u32) -> f32 {
  return bitcast<f32>(constant(place));
}

fn moved(i: u32) -> Moved {
  let before = value_at(i);
  var slope = gradient_of(i);
  if (is_nonzero(constant(WEIGHT_DECAY))) {
    slope = bitcast<u32>(bitcast<f32>(before) * float_at(WEIGHT_DECAY) + bitcast<f32>(slope));
  }
  let sum = bitcast<f32>(slope) * bitcast<f32>(slope) + bitcast<f32>(sums[i]);
  sums[i] = bitcast<u32>(sum);
  let change = multiplied(constant(NEGATIVE_STEP), slope);
  let quotient = bitcast<f32>(change) / (sqrt(sum) + float_at(EPS));
  return Moved(added(bitcast<u32>(quotient), before), is_nonzero(change));
}

@compute @workgroup_size(256)
fn adagrad(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
