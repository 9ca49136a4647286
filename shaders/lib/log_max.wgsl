// `binade_grad_scaler::LogMax` in fixed point, whose documentation says each rounding.
//!use lib/wide.wgsl
//!use lib/state.wgsl

struct LogMax {
  ceiling: i32,
  deviations: u32,
  weight: u32,
  slow_weight: u32,
}

// Bits of a logarithm's fraction, those that a mean has more, bits of a weight's fraction.
const LOG = 20u;
const FINER = 8u;
const WEIGHT = 24u;
const ALL = 0x1000000u;
const HALF = vec2(0x800000u, 0u);

// Of a positive number's bits, rounded down: the significand is squared, once for each bit.
fn log2_of(bits: u32) -> vec2<u32> {
  var exponent = i32((bits >> 23u) & 0xffu);
  var significand = bits & 0x7fffffu;
  if (exponent == 0) {
    significand = max(significand, 1u);
    let up = countLeadingZeros(significand) - 8u;
    exponent = 1 - i32(up);
    significand <<= up;
  }
  // In [1, 2), with 63 bits of fraction.
  var rest = vec2(0u, (significand | 0x800000u) << 8u);
  var log = exponent - 127;
  for (var bit = 0u; bit < LOG; bit++) {
    let square = times_high(rest, rest);
    let is_two = (square.y >> 31u) != 0u;
    rest = select(shifted_left(square, 1u), square, is_two);
    log = (log << 1u) | select(0, 1, is_two);
  }
  return extended(log);
}

// A weighted step from `average` to `value`, rounded to nearest.
fn toward(average: vec2<u32>, value: vec2<u32>, weight: u32) -> vec2<u32> {
  let step = plus(times(minus(value, average), vec2(weight, 0u)), HALF);
  return plus(average, shifted_down(step, WEIGHT));
}

// The same from the weights taken in to 1.
fn take(taken: u32, weight: u32) -> u32 {
  let so_far = min(taken, ALL);
  return so_far + shifted_down(plus(product(ALL - so_far, weight), HALF), WEIGHT).x;
}

fn learn(rule: LogMax, seen: ptr<function, Scale>, log: vec2<u32>) {
  let fast = min(rule.weight, ALL);
  let slow = min(rule.slow_weight, ALL);
  let fine = shifted_left(log, FINER);
  (*seen).mean = toward((*seen).mean, fine, fast);
  (*seen).slow_mean = toward((*seen).slow_mean, fine, slow);
  (*seen).square = toward((*seen).square, shifted_down(times(log, log), LOG), slow);
  (*seen).taken = take((*seen).taken, fast);
  (*seen).slow_taken = take((*seen).slow_taken, slow);
}

// An average of values of which `taken` of the whole weight, and more than nothing, were taken in.
fn corrected(average: vec2<u32>, taken: u32) -> vec2<u32> {
  return quotient(shifted_left(average, WEIGHT), taken);
}

// The exponent that leaves the room asked for, not yet within any limits.
fn exponent_of(rule: LogMax, seen: Scale) -> i32 {
  let mean = shifted_down(corrected(seen.mean, seen.taken), FINER);
  let slow = shifted_down(corrected(seen.slow_mean, seen.slow_taken), FINER);
  let variance = minus(corrected(seen.square, seen.slow_taken), shifted_down(times(slow, slow), LOG));
  let deviation = root(shifted_left(select(variance, vec2(0u), is_negative(variance)), LOG));
  let room = shifted_down(times(deviation, vec2(rule.deviations, 0u)), 16u);
  let ceiling = shifted_left(extended(rule.ceiling), LOG);
  return within_word(shifted_down(minus(minus(ceiling, mean), room), LOG));
}
