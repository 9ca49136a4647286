// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, and its gradients.
//
// Oracle: `cases/layer_norm.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// `layer_norm_numbers`, `layer_norm_backward_numbers`: a grid of any size strides over rows, and leaves mean and 1 / sqrt(var + eps),
// or the means of g * w and of g * w * x. `layer_norm`, `layer_norm_backward`: a grid of any size strides over groups of four
// elements. `layer_norm_columns`: a grid of any size strides over sums of g * x, of 64 rows each, which `channel_sums` adds up. The last two
// serve `rms_norm` too, whose mean and mean of g * w are 0.
//
// Two passes over a row for its statistics, the second about the mean, so that nothing cancels.
//!use lib/row_norm.wgsl

// The bias, or the means of a row.
@group(0) @binding(6) var<storage, read> third: array<u32>;

const PART = 64u;

fn bias_at(column: u32) -> f32 {
  let element = params.bias_start + column;
  return parameter(third[word_of(params.parameter_dtype, element)], element);
}

fn affine(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = i / params.width;
  let column = i - row * params.width;
  return narrow(normal(row, a_at(i)) * weight_at(column) + bias_at(column));
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = i / params.width;
  let scaled = a_at(i) * weight_at(i - row * params.width);
  let offset = bitcast<f32>(third[2u * row]);
  let product = normal(row, b_at(i)) * bitcast<f32>(third[2u * row + 1u]);
  return narrow(numbers[2u * row + 1u] * ((scaled - offset) - product));
}

@compute @workgroup_size(256)
fn layer_norm_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    var mean = 0.0;
    for (var i = thread % params.team; i < width; i += params.team) {
      mean += a_at(row * params.width + i);
    }
    mean = sum_of_team(mean, thread, params.team) / f32(params.width);
    let square = mean_square_off(row, thread, width, mean);
    leave_numbers(row, thread, mean, 1.0 / sqrt(square + params.eps));
  }
}

@compute @workgroup_size(256)
fn layer_norm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(affine(i), affine(i + 1u), affine(i + 2u), affine(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn layer_norm_backward_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    var offset = 0.0;
    var product = 0.0;
    for (var i = thread % params.team; i < width; i += params.team) {
      let scaled = a_at(row * params.width + i) * weight_at(i);
      offset += scaled;
      product += scaled * normal(row, b_at(row * params.width + i));
    }
    offset = sum_of_team(offset, thread, params.team) / f32(params.width);
    product = sum_of_team(product, thread, params.team) / f32(params.width);
    leave_numbers(row, thread, offset, product);
  }
}

@compute @workgroup_size(256)
fn layer_norm_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn layer_norm_columns(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    let column = i % params.width;
    let start = i / params.width * PART;
    var sum = 0.0;
    for (var row = start; row < min(start + PART, params.rows); row++) {
      let at = row * params.width + column;
      sum += a_at(at) * normal(row, b_at(at));
    }
    output[i] = bitcast<u32>(sum);
  }
}
