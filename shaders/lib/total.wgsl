// Sums of chunks of 256 elements each, a team for each chunk. The sums are elements again, until one is left: the order of all
// additions follows from the number of elements alone. A shader says what it adds up by `term(i)`.
//!asks term
//!use lib/operands.wgsl
//!use lib/teams.wgsl

struct Params {
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Elements before the first of the sums, or of the gradient, in its binding.
  at: u32,
  // What the sums are divided by.
  divisor: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> grad: array<f32>;

const CHUNK = 256u;
const TEAM = 16u;

// Without a division that may be off where there is nothing to divide by.
fn divided(value: f32) -> f32 {
  if (params.divisor == 1.0) {
    return value;
  }
  return value / params.divisor;
}

fn leave_sums(thread: u32, group: u32, groups: u32) {
  let chunks = (params.len + CHUNK - 1u) / CHUNK;
  let at_once = THREADS / TEAM;
  for (var base = group * at_once; base < chunks; base += groups * at_once) {
    let chunk = base + thread / TEAM;
    var sum = 0.0;
    for (var i = thread % TEAM; i < CHUNK; i += TEAM) {
      if (chunk * CHUNK + i < params.len) {
        sum += term(chunk * CHUNK + i);
      }
    }
    sum = sum_of_team(sum, thread, TEAM);
    if (thread % TEAM == 0u && chunk < chunks) {
      output[params.at + chunk] = bitcast<u32>(divided(sum));
    }
  }
}
