// From one of bf16, f16, f32, e4m3 and e5m2 to another, or to itself: a copy.
//
// Oracles: `cases/cast/oracle.rs`, `cases/stochastic_cast.rs`; agreement: bits, NaN's payload among them where it is not stochastic.
//
// `cast_elements`, `cast` being a word of the language: a grid of any size strides over groups of four elements. Elements of a type that stays keep their bits, but for infinities where `saturates`.
// `cast_stochastic` rounds up or down by the random words of (seed, step, parameter, element), in the same grid.
//
// In integers alone: nothing departs from the oracle on any driver.
//!use lib/eight_bits.wgsl
//!use lib/philox.wgsl

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  to: u32,
  // Elements before the first of `input`, in its binding; `output` begins with its own.
  start: u32,
  // Whether what is too large for a narrow type becomes its largest finite number, infinities too.
  saturates: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

// The largest finite code, under one that overflowed from a number or an infinity.
fn within(to: u32, code: u32, bits: u32) -> u32 {
  let format = format_of(to);
  let magnitude = code & ((1u << format.sign_bit) - 1u);
  return select(code, code - 1u, magnitude == format.most + 1u && !is_nan_bits(bits));
}

fn code_at(dtype: u32, element: u32) -> u32 {
  return any_code_in(dtype, input[any_word_of(dtype, element)], element);
}

fn converted(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let code = code_at(params.dtype, params.start + i);
  let bits = any_widened(params.dtype, code);
  var narrow = code;
  if (params.to != params.dtype) {
    narrow = any_narrowed(params.to, bits);
  }
  if (params.saturates == 0u || params.to == F32) {
    return narrow;
  }
  return within(params.to, narrow, bits);
}

// Writes four codes from an element on that is a multiple of four, as many as there are.
fn put(to: u32, i: u32, len: u32, codes: vec4<u32>) {
  if (is_eight_bits(to)) {
    output[i / 4u] = codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
  } else if (to == F32) {
    for (var k = 0u; k < GROUP && i + k < len; k++) {
      output[i + k] = codes[k];
    }
  } else {
    output[i / 2u] = codes.x | (codes.y << 16u);
    if (i + 2u < len) {
      output[i / 2u + 1u] = codes.z | (codes.w << 16u);
    }
  }
}

@compute @workgroup_size(256)
fn cast_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let codes = vec4(converted(i), converted(i + 1u), converted(i + 2u), converted(i + 3u));
    put(params.to, i, params.len, codes);
  }
}

struct StochasticParams {
  len: u32,
  dtype: u32,
  to: u32,
  start: u32,
  // What names the random words.
  seed_low: u32,
  seed_high: u32,
  step: u32,
  parameter: u32,
  // Groups of the tensor before the first of these.
  block_low: u32,
  block_high: u32,
}

@group(0) @binding(0) var<uniform> chance: StochasticParams;

fn drawn(i: u32, random: u32) -> u32 {
  if (i >= chance.len) {
    return 0u;
  }
  let bits = any_widened(chance.dtype, code_at(chance.dtype, chance.start + i));
  if (chance.to == F32) {
    return bits;
  }
  return stochastic(format_of(chance.to), bits, random);
}

@compute @workgroup_size(256)
fn cast_stochastic(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < chance.len; i += stride(groups)) {
    let block = plus(vec2(chance.block_low, chance.block_high), vec2(i / GROUP, 0u));
    let random = words_of(vec2(chance.seed_low, chance.seed_high), chance.step, chance.parameter, block);
    let codes = vec4(
      drawn(i, random.x), drawn(i + 1u, random.y), drawn(i + 2u, random.z), drawn(i + 3u, random.w));
    put(chance.to, i, chance.len, codes);
  }
}
