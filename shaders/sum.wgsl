// The sum of all elements, an f32 scalar, and its gradient; with a divisor the mean, and its.
//
// Oracle: `cases/sum.rs`; agreement: bound: f32 sums of 16 elements, joined by halves. The gradient: bits, but for the division.
//
// `sum`: a grid of any size strides over chunks of 256 elements, and leaves a sum for each. `sum_backward`: a grid of any size
// strides over groups of four elements, all of which are the scalar's gradient.
//
// The plain loop is a tree here.
//!use lib/total.wgsl

fn term(i: u32) -> f32 {
  return a_at(i);
}

@compute @workgroup_size(256)
fn sum(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  leave_sums(thread, group.x, groups.x);
}

@compute @workgroup_size(256)
fn sum_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let code = narrow(divided(grad[params.at]));
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(code));
  }
}
