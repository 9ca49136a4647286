// x / sqrt(mean(x^2) + eps) * weight over the last axis, and its gradients.
//
// Oracle: `cases/rms_norm.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// `rms_norm_numbers`, `rms_norm_backward_mean`: a grid of any size strides over rows, and leaves 0 and 1 / sqrt(mean(x^2) + eps), or 0 and
// the mean of g * w * x, from which `layer_norm_backward` and `layer_norm_columns` make the gradients. `rms_norm`: a grid of any size strides
// over groups of four elements.
//!use lib/row_norm.wgsl

fn scaled(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = i / params.width;
  return narrow(normal(row, a_at(i)) * weight_at(i - row * params.width));
}

@compute @workgroup_size(256)
fn rms_norm_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    let square = mean_square_off(row, thread, width, 0.0);
    leave_numbers(row, thread, 0.0, 1.0 / sqrt(square + params.eps));
  }
}

@compute @workgroup_size(256)
fn rms_norm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(scaled(i), scaled(i + 1u), scaled(i + 2u), scaled(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn rms_norm_backward_mean(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  for (var base = group.x * rows_at_once(); base < params.rows; base += groups.x * rows_at_once()) {
    let row = base + thread / params.team;
    let width = select(0u, params.width, row < params.rows);
    var product = 0.0;
    for (var i = thread % params.team; i < width; i += params.team) {
      let at = row * params.width + i;
      product += a_at(at) * weight_at(i) * normal(row, b_at(at));
    }
    product = sum_of_team(product, thread, params.team) / f32(params.width);
    leave_numbers(row, thread, 0.0, product);
  }
}
