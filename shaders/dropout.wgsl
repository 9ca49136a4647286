// Zeroes elements by the random words of a key and multiplies the rest; the gradient likewise, by the same shader.
//
// Oracle: `cases/dropout.rs`; agreement: bits, any NaN for any NaN.
//
// `dropout`: a grid of any size strides over groups of four elements, for which one block of four random words is made.
//
// Element i's word is the one it has on every device. `key` is seed and counter, read on the device.
//!use lib/multiply.wgsl
//!use lib/operands.wgsl
//!use lib/philox.wgsl

struct Params {
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Blocks of four elements in front of the first.
  first: u32,
  // Words before the first in the key's binding.
  key_start: u32,
  // Words below it drop.
  threshold: u32,
  factor: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> key: array<u32>;

fn kept(i: u32, word: u32) -> u32 {
  let product = multiplied(bits_of_a(i), bitcast<u32>(params.factor));
  return select(narrowed(params.dtype, product), 0u, word < params.threshold);
}

@compute @workgroup_size(256)
fn dropout(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let at = params.key_start;
  let seed = vec2(key[at], key[at + 1u]);
  // The complement keeps off the words that round parameters, which are numbered from 0.
  let step = key[at + 2u];
  let parameter = ~key[at + 3u];
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let words = words_of(seed, step, parameter, vec2(params.first + i / GROUP, 0u));
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = kept(i + k, words[k]);
    }
    store(i, codes);
  }
}
