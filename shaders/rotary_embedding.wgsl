// Pairs of elements of each line rotated by angles of the line's position, and the gradient likewise, with negative sines.
//
// Oracle: `cases/rotary_embedding.rs`; agreement: bound: two products and a sum in f32, which a driver may fuse.
//
// `rotary_embedding`: a grid of any size strides over groups of four elements.
//!use lib/group.wgsl

struct Params {
  len: u32,
  dtype: u32,
  start: u32,
  // Elements of the result in front of the first.
  first: u32,
  rows: u32,
  half: u32,
  // Places before the first in the tables' bindings.
  cos_start: u32,
  sin_start: u32,
  // Of the sines.
  sign: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read> cosines: array<f32>;
@group(0) @binding(3) var<storage, read> sines: array<f32>;
@group(0) @binding(4) var<storage, read_write> output: array<u32>;

fn input_at(i: u32) -> f32 {
  let element = params.start + i;
  return bitcast<f32>(widened(params.dtype, code_in(params.dtype, input[word_of(params.dtype, element)], element)));
}

fn rotated(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let at = params.first + i;
  let line = at / (2u * params.half);
  let column = at - line * 2u * params.half;
  let is_first = column < params.half;
  let angle = line % params.rows * params.half + select(column - params.half, column, is_first);
  let other = input_at(select(at - params.half, at + params.half, is_first));
  let sine = sines[params.sin_start + angle] * select(params.sign, -params.sign, is_first);
  let sum = input_at(at) * cosines[params.cos_start + angle] + other * sine;
  return narrowed(params.dtype, bitcast<u32>(sum));
}

@compute @workgroup_size(256)
fn rotary_embedding(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = rotated(i + k);
    }
    store_group(params.dtype, i, params.len, codes);
  }
}
