// The mean of squared differences, an f32 scalar, and its gradients.
//
// Oracle: `cases/mse_loss.rs`; agreement: bound: f32 sums of 16 squares, joined by halves by `sum`.
//
// `mse_loss`: a grid of any size strides over chunks of 256 elements, and leaves a sum for each. `mse_loss_backward`: a grid of
// any size strides over groups of four elements; the gradient of `a`, and of `b` where they change places.
//
// The plain loop is a tree here.
//!use lib/total.wgsl

fn term(i: u32) -> f32 {
  let off = a_at(i) - b_at(i);
  return off * off;
}

fn slope(i: u32, factor: f32) -> u32 {
  return narrow((value_of_a(i) - value_of_b(i)) * factor);
}

@compute @workgroup_size(256)
fn mse_loss(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  leave_sums(thread, group.x, groups.x);
}

@compute @workgroup_size(256)
fn mse_loss_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let factor = divided(2.0 * grad[params.at]);
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i, factor), slope(i + 1u, factor), slope(i + 2u, factor), slope(i + 3u, factor)));
  }
}
