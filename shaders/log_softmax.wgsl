// x - log(sum(exp(x))) over the last axis, and its gradient.
//
// Oracle: `cases/log_softmax.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// `log_softmax_numbers`, `log_softmax_backward_numbers`: a grid of any size strides over rows, and leaves the largest element and
// the logarithm of the sum, or the sum of the gradient. `log_softmax`, `log_softmax_backward`: a grid of any size strides over
// groups of four elements.
//
// The order of the sums follows from the width alone.
//!use lib/rows.wgsl

fn logarithm(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  return narrow((a_at(i) - numbers[2u * row]) - numbers[2u * row + 1u]);
}

// `a` is the gradient, `b` the output.
fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  return narrow(a_at(i) - exp_of(b_at(i)) * numbers[2u * row]);
}

@compute @workgroup_size(256)
fn log_softmax_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let of_row = normaliser(row, thread);
    leave_numbers(row, thread, of_row.x, log_of(of_row.y));
  }
}

@compute @workgroup_size(256)
fn log_softmax(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(logarithm(i), logarithm(i + 1u), logarithm(i + 2u), logarithm(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn log_softmax_backward_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    var sum = 0.0;
    for (var i = thread % params.team; i < width; i += params.team) {
      sum += a_at(row * params.width + i);
    }
    leave_numbers(row, thread, sum_of_team(sum, thread, params.team), 0.0);
  }
}

@compute @workgroup_size(256)
fn log_softmax_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
