// The constants of each parameter's next step, indexed by the count of steps that were applied to it, and that count's next
// value, unless the step is skipped; with them what a step needs of the verdict and of the set.
//
// Oracle: `StepConstants::at`; agreement: bits. What needs a power is a table of the host's; one division of f64 is left.
//
// `prepare`: a grid of any size strides over the parameters that may have a gradient. `forget_lost`: over all that there are.
//
// Beyond its last row a table does not change any more, so that the last row stands for all that follow. There is no f64 here:
// the division is one of integers, rounded to 53 bits and then to an f32's, as the host's is.
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/moves.wgsl
//!use lib/state.wgsl

// What depends on the count t of applied steps, this one included: the bits of 1 - beta1^t in f64, and of sqrt(1 - beta2^t), or of
// 1 - beta2^t for `Correction::Divisors`.
struct Correction {
  bias: vec2<u32>,
  root: u32,
  pad: u32,
}

struct Rule {
  // The bits of the negative learning rate in f64.
  negative_lr: vec2<u32>,
  // Its first row among `corrections`, and its rows.
  first: u32,
  rows: u32,
  // All that does not depend on the count; what does comes first.
  constants: array<u32, 16>,
  // 1 for `Correction::Divisors`: the second constant is then the bias itself, and the third is 1 in the first step.
  has_divisors: u32,
  pad: u32,
}

struct Asked {
  // The word of `present` that says whether the gradient is there.
  flag: u32,
  slot: u32,
  rule: u32,
  pad: u32,
}

struct Params {
  count: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> asked: array<Asked>;
@group(0) @binding(2) var<storage, read> rules: array<Rule>;
@group(0) @binding(3) var<storage, read> corrections: array<Correction>;
@group(0) @binding(4) var<storage, read> found: Found;
@group(0) @binding(5) var<storage, read> owed: Owed;
@group(0) @binding(6) var<storage, read> present: array<u32>;
@group(0) @binding(7) var<storage, read_write> applied: array<Applied>;
@group(0) @binding(8) var<storage, read_write> moves: array<Move>;

// Of an f64 that is normal: 53 bits.
fn significand_of(bits: vec2<u32>) -> vec2<u32> {
  return vec2(bits.x, (bits.y & 0xfffffu) | 0x100000u);
}

fn exponent_of_f64(bits: vec2<u32>) -> i32 {
  return i32((bits.y >> 20u) & 0x7ffu) - 1075;
}

// 1 in f64.
const ONE = vec2(0u, 0x3ff00000u);

fn is_zero(bits: vec2<u32>) -> bool {
  return bits.x == 0u && (bits.y & MAGNITUDE_BITS) == 0u;
}

// Rounded from 55 or 56 bits to 53, to nearest even.
fn rounded_f64(a: vec2<u32>) -> vec2<u32> {
  let dropped = select(2u, 3u, (a.y >> 23u) != 0u);
  let cut = a.x & ((1u << dropped) - 1u);
  let half = 1u << (dropped - 1u);
  let kept = vec2(a.x & ~((1u << dropped) - 1u), a.y);
  let is_odd = ((a.x >> dropped) & 1u) == 1u;
  let rounds_up = cut > half || (cut == half && is_odd);
  return plus(kept, vec2(select(0u, 1u << dropped, rounds_up), 0u));
}

// The bits of the f32 nearest to the f64 nearest to a / b, of f64 that are normal, or 0 for `a`.
fn narrow_quotient(a: vec2<u32>, b: vec2<u32>) -> u32 {
  let sign = (a.y ^ b.y) & SIGN_BIT;
  if (is_zero(a)) {
    return sign;
  }
  let wide = rounded_f64(ratio(significand_of(a), significand_of(b)));
  return sign | nearest(wide, exponent_of_f64(a) - exponent_of_f64(b) - 55);
}

fn constants_at(rule: Rule, before: vec2<u32>) -> array<u32, 16> {
  var constants = rule.constants;
  let is_first = select(0u, 0x3f800000u, all(before == vec2(0u)));
  if (rule.rows == 0u) {
    constants[0] = is_first;
    return constants;
  }
  let is_within = before.y == 0u && before.x < rule.rows;
  let correction = corrections[rule.first + select(rule.rows - 1u, before.x, is_within)];
  constants[0] = correction.root;
  let has_divisors = rule.has_divisors != 0u;
  let above = select(rule.negative_lr, correction.bias, has_divisors);
  constants[1] = narrow_quotient(above, select(correction.bias, ONE, has_divisors));
  constants[2] = select(constants[2], is_first, has_divisors);
  return constants;
}

// Whether a step is taken the verdict says, and the word that says whether there is a gradient.
fn prepared(wanted: Asked) {
  let is_stepped = (found.raised | found.halted) == 0u && present[wanted.flag] != 0u;
  moves[wanted.slot].is_stepped = select(0u, 1u, is_stepped);
  if (!is_stepped) {
    return;
  }
  let before = applied[wanted.slot].steps;
  moves[wanted.slot].inverse = owed.inverse;
  moves[wanted.slot].clip = owed.clip;
  moves[wanted.slot].step = before.x;
  moves[wanted.slot].constants = constants_at(rules[wanted.rule], before);
  applied[wanted.slot].steps = plus(before, vec2(1u, 0u));
  applied[wanted.slot].lost = 0u;
  applied[wanted.slot].moved = 0u;
}

@compute @workgroup_size(256)
fn prepare(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.count; i += groups.x * THREADS) {
    prepared(asked[i]);
  }
}

// Counting begins anew.
@compute @workgroup_size(256)
fn forget_lost(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.count; i += groups.x * THREADS) {
    applied[i].lost = 0u;
    applied[i].moved = 0u;
  }
}
