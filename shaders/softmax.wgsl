// exp(x) / sum(exp(x)) over the last axis, and its gradient.
//
// Oracle: `cases/softmax.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// `softmax_numbers`, `softmax_backward_numbers`: a grid of any size strides over rows, and leaves the largest element and the sum,
// or the sum of grad * output. `softmax`, `softmax_backward`: a grid of any size strides over groups of four elements.
//
// The order of the sums follows from the width alone.
//!use lib/multiply.wgsl
//!use lib/rows.wgsl

fn share(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  return narrow(exp_over(a_at(i) - numbers[2u * row], numbers[2u * row + 1u]));
}

// `a` is the gradient, `b` the output.
fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  let rest = bitcast<u32>(a_at(i) - numbers[2u * row]);
  return narrowed(params.dtype, multiplied(bits_of_b(i), rest));
}

@compute @workgroup_size(256)
fn softmax_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let of_row = normaliser(row, thread);
    leave_numbers(row, thread, of_row.x, of_row.y);
  }
}

@compute @workgroup_size(256)
fn softmax(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(share(i), share(i + 1u), share(i + 2u), share(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn softmax_backward_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    var sum = 0.0;
    for (var i = thread % params.team; i < width; i += params.team) {
      sum += a_at(row * params.width + i) * b_at(row * params.width + i);
    }
    leave_numbers(row, thread, sum_of_team(sum, thread, params.team), 0.0);
  }
}

@compute @workgroup_size(256)
fn softmax_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k);
    }
    store(i, codes);
  }
}
