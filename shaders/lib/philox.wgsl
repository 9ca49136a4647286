// Philox4x32-10 as `binade_core::stochastic` has it: random words that depend on nothing but a name.
//!use lib/wide.wgsl

fn philox(name: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var counter = name;
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    let first = product(0xd2511f53u, counter.x);
    let second = product(0xcd9e8d57u, counter.z);
    counter = vec4(second.y ^ counter.y ^ key.x, second.x, first.y ^ counter.w ^ key.y, first.x);
    key += vec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}

// The words of elements 4 * block to 4 * block + 3.
fn words_of(seed: vec2<u32>, step: u32, parameter: u32, block: vec2<u32>) -> vec4<u32> {
  return philox(vec4(block, step, parameter), seed);
}
