// Normalisation of the channels of a tensor [outer, channels, inner]: its parameters, and what is known of each channel.
//!use lib/operands.wgsl
//!use lib/teams.wgsl

struct Params {
  // Elements that are gone through one by one, or channels.
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  channels: u32,
  inner: u32,
  // Of each channel.
  samples: u32,
  // Invocations that share a channel: a power of two that follows from the samples.
  team: u32,
  weight_start: u32,
  bias_start: u32,
  // The type of weights and biases.
  parameter_dtype: u32,
  eps: f32,
  // Which of a channel's numbers is taken.
  number: u32,
  // Factor of the number: n / (n - 1) of the variance.
  factor: f32,
  // The weights of the new and of the old, in the running statistics.
  momentum: f32,
  kept: f32,
  // Neighbouring channels that share their numbers, and channels after which weights begin again.
  share: u32,
  weights: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Three for each channel, or for each of those that share them: mean, 1 / sqrt(var + eps), var.
@group(0) @binding(4) var<storage, read> numbers: array<f32>;
@group(0) @binding(5) var<storage, read> weight: array<u32>;
// The bias, or the two sums of each channel.
@group(0) @binding(6) var<storage, read> third: array<u32>;

fn parameter(word: u32, element: u32) -> f32 {
  return bitcast<f32>(widened(params.parameter_dtype, code_in(params.parameter_dtype, word, element)));
}

fn weight_at(channel: u32) -> f32 {
  let element = params.weight_start + channel % params.weights;
  return parameter(weight[word_of(params.parameter_dtype, element)], element);
}

fn bias_at(channel: u32) -> f32 {
  let element = params.bias_start + channel % params.weights;
  return parameter(third[word_of(params.parameter_dtype, element)], element);
}

fn sum_at(channel: u32, number: u32) -> f32 {
  return bitcast<f32>(third[2u * channel + number]);
}

fn channel_of(i: u32) -> u32 {
  return i / params.inner % params.channels;
}

// Where a channel's sample lies.
fn place_of(channel: u32, sample: u32) -> u32 {
  let run = sample / params.inner;
  return (run * params.channels + channel) * params.inner + (sample - run * params.inner);
}

// 1 / sqrt(var + eps).
fn rstd_of(channel: u32) -> f32 {
  return numbers[channel / params.share * 3u + 1u];
}

fn normal(channel: u32, x: f32) -> f32 {
  return (x - numbers[channel / params.share * 3u]) * rstd_of(channel);
}

// Channels that a group does at a time.
fn channels_at_once() -> u32 {
  return THREADS / params.team;
}
