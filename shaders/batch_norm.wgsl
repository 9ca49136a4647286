// (x - mean) / sqrt(var + eps) * weight + bias by channel of a tensor [outer, channels, inner], and its gradients.
//
// Oracle: `cases/batch_norm.rs`; agreement: bound: all in f32, sums by teams of invocations.
//
// Grids of any size stride. `batch_norm_numbers`, `batch_norm_backward_numbers`: over channels, a team for each, which leaves mean,
// 1 / sqrt(var + eps) and var, or the sums of g * x and of g. `batch_norm_running`: over channels, the next of one running
// statistic; `batch_norm_running_numbers`: over channels, the numbers of both. `batch_norm`, `batch_norm_backward`: over groups of
// four elements; `batch_norm_parameters`: over groups of four of the sums, rounded.
//
// Two passes over a channel for its statistics, the second about the mean, so that nothing cancels. A channel is one team's.
//!use lib/channel_norm.wgsl

fn affine(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let channel = channel_of(i);
  return narrow(normal(channel, a_at(i)) * weight_at(channel) + bias_at(channel));
}

// `a` is the gradient, `b` the input.
fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let channel = channel_of(i);
  let samples = f32(params.samples);
  let product = normal(channel, b_at(i)) * (sum_at(channel, 0u) / samples);
  let rest = (a_at(i) - sum_at(channel, 1u) / samples) - product;
  return narrow((weight_at(channel) * rstd_of(channel)) * rest);
}

fn parameter_slope(channel: u32) -> u32 {
  if (channel >= params.len) {
    return 0u;
  }
  return narrowed(params.parameter_dtype, third[2u * channel + params.number]);
}

fn leave_numbers(channel: u32, mean: f32, variance: f32) {
  output[3u * channel] = bitcast<u32>(mean);
  output[3u * channel + 1u] = bitcast<u32>(1.0 / sqrt(variance + params.eps));
  output[3u * channel + 2u] = bitcast<u32>(variance);
}

@compute @workgroup_size(256)
fn batch_norm_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  let step = groups.x * channels_at_once();
  for (var base = group.x * channels_at_once(); base < params.channels; base += step) {
    let channel = base + thread / params.team;
    let samples = select(0u, params.samples, channel < params.channels);
    var mean = 0.0;
    for (var s = thread % params.team; s < samples; s += params.team) {
      mean += a_at(place_of(channel, s));
    }
    mean = sum_of_team(mean, thread, params.team) / f32(params.samples);
    var square = 0.0;
    for (var s = thread % params.team; s < samples; s += params.team) {
      let off = a_at(place_of(channel, s)) - mean;
      square += off * off;
    }
    square = sum_of_team(square, thread, params.team) / f32(params.samples);
    if (channel < params.channels && thread % params.team == 0u) {
      leave_numbers(channel, mean, square);
    }
  }
}

// `a` is the running mean, `b` the running variance.
@compute @workgroup_size(256)
fn batch_norm_running_numbers(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    leave_numbers(i, a_at(i), b_at(i));
  }
}

// `a` is what it was.
@compute @workgroup_size(256)
fn batch_norm_running(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.len; i += groups.x * THREADS) {
    let of_batch = numbers[3u * i + params.number] * params.factor;
    output[i] = bitcast<u32>(params.kept * a_at(i) + params.momentum * of_batch);
  }
}

@compute @workgroup_size(256)
fn batch_norm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(affine(i), affine(i + 1u), affine(i + 2u), affine(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn batch_norm_backward_numbers(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  let step = groups.x * channels_at_once();
  for (var base = group.x * channels_at_once(); base < params.channels; base += step) {
    let channel = base + thread / params.team;
    let samples = select(0u, params.samples, channel < params.channels);
    var product = 0.0;
    var sum = 0.0;
    for (var s = thread % params.team; s < samples; s += params.team) {
      let at = place_of(channel, s);
      product += a_at(at) * normal(channel, b_at(at));
      sum += a_at(at);
    }
    product = sum_of_team(product, thread, params.team);
    sum = sum_of_team(sum, thread, params.team);
    if (channel < params.channels && thread % params.team == 0u) {
      output[2u * channel] = bitcast<u32>(product);
      output[2u * channel + 1u] = bitcast<u32>(sum);
    }
  }
}

@compute @workgroup_size(256)
fn batch_norm_parameters(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let codes = vec4(parameter_slope(i), parameter_slope(i + 1u), parameter_slope(i + 2u), parameter_slope(i + 3u));
    store_as(params.parameter_dtype, i, codes);
  }
}

@compute @workgroup_size(256)
fn batch_norm_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
