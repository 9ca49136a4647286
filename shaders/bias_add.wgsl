// A vector added along the channel axis of a tensor [outer, channels, inner], and its gradient, the sum over each channel.
//
// Oracle: `cases/bias_add.rs`; agreement: forward bits, any NaN for any NaN;
// backward the bound of an f32 sum.
//
// `bias_add`: a grid of any size strides over groups of four elements. `channel_sums`: a grid of any size strides over groups of
// four sums of at most 64 samples of a channel; the sums of a part of all channels are neighbours. They are added up by the
// same shader, with `inner` being 1, until there is one for each channel.
//
// The plain loop is cut into parts, which follow from the shape alone.
//!use lib/added.wgsl
//!use lib/operands.wgsl

struct Params {
  // Elements, or sums.
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  channels: u32,
  inner: u32,
  // Elements of the tensor in front of the first.
  first: u32,
  // Of each channel.
  samples: u32,
  // The sums' element type.
  to: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

const PART = 64u;

fn biased(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let bias = bitcast<u32>(b_at((params.first + i) / params.inner % params.channels));
  return narrowed(params.dtype, added(bits_of_a(i), bias));
}

fn channel_sum(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let channel = i % params.channels;
  let start = i / params.channels * PART;
  let end = min(start + PART, params.samples);
  var sum = 0.0;
  for (var s = start; s < end; s++) {
    let run = s / params.inner;
    sum += a_at((run * params.channels + channel) * params.inner + (s - run * params.inner));
  }
  return narrowed(params.to, bitcast<u32>(sum));
}

@compute @workgroup_size(256)
fn bias_add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = biased(i + k);
    }
    store(i, codes);
  }
}

@compute @workgroup_size(256)
fn channel_sums(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store_as(params.to, i, vec4(channel_sum(i), channel_sum(i + 1u), channel_sum(i + 2u), channel_sum(i + 3u)));
  }
}
