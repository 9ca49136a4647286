// The gradients of a normalisation of [N, C, ..] by each sample's groups of channels.
//
// Oracle: `cases/group_norm.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// A group of a sample is a row, and a channel of a sample a run: the shaders of `batch_norm` give the rows' numbers, normalise runs by them,
// and leave the runs' sums of g * x and of g. `group_norm_rows`: a grid of any size strides over rows, and leaves the sums of their runs,
// each times its weight. `group_norm_backward`: a grid of any size strides over groups of four elements.
//!use lib/channel_norm.wgsl

@compute @workgroup_size(256)
fn group_norm_rows(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var row = id.x; row < params.len; row += groups.x * THREADS) {
    var product = 0.0;
    var sum = 0.0;
    for (var run = row * params.share; run < (row + 1u) * params.share; run++) {
      let w = weight_at(run);
      product += w * sum_at(run, 0u);
      sum += w * sum_at(run, 1u);
    }
    output[2u * row] = bitcast<u32>(product);
    output[2u * row + 1u] = bitcast<u32>(sum);
  }
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let run = channel_of(i);
  let row = run / params.share;
  let samples = f32(params.samples);
  let product = normal(run, b_at(i)) * (sum_at(row, 0u) / samples);
  let rest = (a_at(i) * weight_at(run) - sum_at(row, 1u) / samples) - product;
  return narrow(rstd_of(run) * rest);
}

@compute @workgroup_size(256)
fn group_norm_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
