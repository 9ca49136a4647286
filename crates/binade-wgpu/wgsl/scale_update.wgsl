// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/wide.wgsl
// Integers of 64 bits, which WGSL does not have: the lower word first, signed ones in two's complement. All of it wraps.

// Of the sign that a word of 32 bits has.
fn extended(value: i32) -> vec2<u32> {
  return vec2(bitcast<u32>(value), bitcast<u32>(value >> 31u));
}

fn is_negative(a: vec2<u32>) -> bool {
  return (a.y >> 31u) != 0u;
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn minus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Unsigned.
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The whole product of two words, by halves of them.
fn product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let left = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let right = (a & 0xffffu) * (b >> 16u) + (left & 0xffffu);
  return vec2((low & 0xffffu) | (right << 16u), (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u));
}

// The lower 64 bits of a product.
fn times(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return product(a.x, b.x) + vec2(0u, a.x * b.y + a.y * b.x);
}

// The upper 64 bits of an unsigned product.
fn times_high(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let left = plus(product(a.y, b.x), vec2(product(a.x, b.x).y, 0u));
  let right = plus(product(a.x, b.y), vec2(left.x, 0u));
  return plus(plus(product(a.y, b.y), vec2(left.y, 0u)), vec2(right.y, 0u));
}

// By 0 to 63 bits.
fn shifted_left(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(0u, a.x << (bits - 32u));
  }
  return select(vec2(a.x << bits, (a.y << bits) | (a.x >> (32u - bits))), a, bits == 0u);
}

// By any number of bits, unsigned and rounded down.
fn shifted_right(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(select(a.y >> (bits & 31u), 0u, bits > 63u), 0u);
  }
  return select(vec2((a.x >> bits) | (a.y << (32u - bits)), a.y >> bits), a, bits == 0u);
}

fn leading_zeros(a: vec2<u32>) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}

// By 1 to 31 bits; signed, and so rounded down.
fn shifted_down(a: vec2<u32>, bits: u32) -> vec2<u32> {
  return vec2((a.x >> bits) | (a.y << (32u - bits)), bitcast<u32>(bitcast<i32>(a.y) >> bits));
}

fn negated(a: vec2<u32>) -> vec2<u32> {
  return minus(vec2(0u), a);
}

// Signed by a divisor of 1 to 2^31, rounded towards zero: bit by bit.
fn quotient(a: vec2<u32>, divisor: u32) -> vec2<u32> {
  var rest = select(a, negated(a), is_negative(a));
  var left = 0u;
  for (var bit = 0u; bit < 64u; bit++) {
    left = (left << 1u) | (rest.y >> 31u);
    let fits = left >= divisor;
    left -= select(0u, divisor, fits);
    rest = shifted_left(rest, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  return select(rest, negated(rest), is_negative(a));
}

// a / b * 2^55 of two with equally many bits, 62 at most, so that it has 55 or 56: the last is 1 where anything was cut off.
fn ratio(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var rest = a;
  var found = vec2(0u);
  for (var bit = 0u; bit < 56u; bit++) {
    let fits = !is_less(rest, b);
    rest = minus(rest, select(vec2(0u), b, fits));
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
    rest = shifted_left(rest, 1u);
  }
  return found | vec2(select(0u, 1u, any(rest != vec2(0u))), 0u);
}

// The largest integer whose square is at most this, bit by bit.
fn root(value: vec2<u32>) -> vec2<u32> {
  var rest = value;
  var found = vec2(0u);
  for (var bit = 0u; bit < 32u; bit++) {
    let place = 62u - 2u * bit;
    let one = select(vec2(1u << place, 0u), vec2(0u, 1u << (place - 32u)), place >= 32u);
    let candidate = plus(found, one);
    let fits = !is_less(rest, candidate);
    rest = minus(rest, select(vec2(0u), candidate, fits));
    found = plus(shifted_right(found, 1u), select(vec2(0u), one, fits));
  }
  return found;
}

// What a signed one is, or the nearest of 32 bits.
fn within_word(a: vec2<u32>) -> i32 {
  if (extended(bitcast<i32>(a.x)).y == a.y) {
    return bitcast<i32>(a.x);
  }
  return select(0x7fffffff, -0x7fffffff - 1, is_negative(a));
}

// shaders/lib/state.wgsl
// What the device keeps: the scale, what a pass found, what a set of gradients is still owed. The host's twins are in
// `binade-wgpu/src/dispatch/structs`. Floats that may be infinite, NaN or subnormal are bits, so that no driver changes them.

// `binade_grad_scaler::ScaleState`, and the bits of the two factors that others read from it.
struct Scale {
  factor: u32,
  inverse: u32,
  significand: u32,
  exponent: i32,
  before: i32,
  good_steps: u32,
  bad_steps: u32,
  diverged: u32,
  updates: vec2<u32>,
  overflows: vec2<u32>,
  skipped: vec2<u32>,
  tolerated: u32,
  since_move: u32,
  // `binade_grad_scaler::Averages`.
  mean: vec2<u32>,
  slow_mean: vec2<u32>,
  square: vec2<u32>,
  taken: u32,
  slow_taken: u32,
}

// No parameter's number, and that which a norm goes by which is not finite.
const NOBODY = 0xffffffffu;
const THE_NORM = 0xfffffffeu;

// `binade_core::Finding` without names. Any positive `raised` skips.
struct Found {
  raised: u32,
  halted: u32,
  parameter: u32,
  has_norm: u32,
  index: vec2<u32>,
  scaled: u32,
  unscaled: u32,
  infinities: vec2<u32>,
  nans: vec2<u32>,
  magnitude: u32,
  norm: u32,
  pad: vec2<u32>,
}

// What unscaling and clipping leave to whoever reads a set's values, and its sizes.
struct Owed {
  inverse: u32,
  clip: u32,
  // The largest magnitude there is once unscaled, where NaN is largest.
  largest: u32,
  // The sum of squares of what is finite, times 4^-exponent.
  exponent: i32,
  squares: vec2<u32>,
}

// shaders/lib/log_max.wgsl
// `binade_grad_scaler::LogMax` in fixed point, whose documentation says each rounding.

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

// shaders/scale_update.wgsl
// The scale after an iteration, by what its passes and steps found, and a report of both for the host.
//
// Oracle: `cases/scale_update.rs`, which is `LossScale::next`; agreement: bits: integers, and factors that round once.
//
// `scale_update`: one invocation. The findings were copied into `report` before, parts first, then verdicts; behind it, the new
// scale stands before them.
//
// Sums of exponents are saturated, as the oracle does. No float is computed with: the factors are put together from bits, and the
// inverse is divided in integers, since division is not rounded here.

const MAX_EXPONENT = 126;

// `binade_grad_scaler::Tolerance`, in its order.
const NONE = 0u;
const UNTIL_GOOD_STEP = 1u;
const UNTIL_GROWTH = 2u;
const SHARE = 4u;

// `binade_grad_scaler::LossScale`, as far as `next` reads it, and how many findings there are.
struct Params {
  growth: i32,
  backoff: i32,
  least: i32,
  most: i32,
  growth_interval: u32,
  patience: u32,
  tolerance: u32,
  amount: u32,
  log_max: LogMax,
  predicts: u32,
  // Findings that say whether there was an overflow, and all of them.
  parts: u32,
  count: u32,
  pad: u32,
}

struct Report {
  scale: Scale,
  findings: array<Found>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> scale: Scale;
@group(0) @binding(2) var<storage, read_write> report: Report;

struct Seen {
  overflow: bool,
  skipped: bool,
  // The largest finite |scaled gradient|, which no sign makes less.
  magnitude: u32,
}

fn seen_in_all() -> Seen {
  var seen = Seen(false, false, 0u);
  for (var i = 0u; i < params.count; i++) {
    let found = report.findings[i];
    let is_raised = (found.raised | found.halted) != 0u;
    seen.overflow = seen.overflow || is_raised;
    seen.skipped = seen.skipped || (is_raised && i >= params.parts);
    seen.magnitude = max(seen.magnitude, found.magnitude);
  }
  return seen;
}

fn one_more(count: u32) -> u32 {
  return count + select(0u, 1u, count != 0xffffffffu);
}

fn counted(count: vec2<u32>, more: bool) -> vec2<u32> {
  return plus(count, vec2(select(0u, 1u, more), 0u));
}

fn sum_of(a: i32, b: i32) -> i32 {
  return within_word(plus(extended(a), extended(b)));
}

fn within_limits(exponent: i32, significand: u32) -> i32 {
  // The highest exponent whose inverse is a normal number.
  let highest = select(MAX_EXPONENT - 1, MAX_EXPONENT, significand == 0x3f800000u);
  let asked = max(min(exponent, params.most), params.least);
  return min(max(asked, -MAX_EXPONENT), highest);
}

// Whether the overflow counted last is one too many.
fn is_spent(next: Scale) -> bool {
  let rule = params;
  if (rule.tolerance == NONE) {
    return true;
  }
  if (rule.tolerance == SHARE) {
    return !is_less(product(next.tolerated, 65536u), product(rule.amount, next.since_move));
  }
  return next.tolerated >= rule.amount;
}

fn after_overflow(next: ptr<function, Scale>) {
  let rule = params;
  (*next).tolerated = one_more((*next).tolerated);
  (*next).good_steps = 0u;
  var has_diverged = (*next).bad_steps >= rule.patience;
  if (is_spent(*next)) {
    let may_fall = rule.backoff > 0 || rule.predicts != 0u;
    has_diverged = has_diverged || (may_fall && (*next).exponent <= rule.least);
    (*next).exponent = within_limits(within_word(minus(extended((*next).exponent), extended(rule.backoff))), (*next).significand);
    // The others stay spent until they are refilled.
    if (rule.tolerance != UNTIL_GOOD_STEP && rule.tolerance != UNTIL_GROWTH) {
      (*next).tolerated = 0u;
    }
    (*next).since_move = 0u;
  }
  (*next).diverged = select(0u, 1u, has_diverged);
}

fn after_good(next: ptr<function, Scale>) {
  let rule = params;
  (*next).good_steps = one_more((*next).good_steps);
  if (rule.tolerance != UNTIL_GROWTH && rule.tolerance != SHARE) {
    (*next).tolerated = 0u;
  }
  if (rule.growth <= 0 || (*next).good_steps < rule.growth_interval) {
    return;
  }
  (*next).exponent = within_limits(sum_of((*next).exponent, rule.growth), (*next).significand);
  (*next).good_steps = 0u;
  if (rule.tolerance != SHARE) {
    (*next).tolerated = 0u;
  }
  (*next).since_move = 0u;
}

// The scale that `LogMax` predicts, in place of the one counted to.
fn predict(next: ptr<function, Scale>, seen: Seen) {
  let rule = params.log_max;
  if (seen.overflow) {
    learn(rule, next, shifted_left(extended(rule.ceiling), LOG));
  } else if (seen.magnitude != 0u) {
    let of_scale = plus(shifted_left(extended((*next).before), LOG), log2_of((*next).significand));
    learn(rule, next, minus(log2_of(seen.magnitude), of_scale));
  }
  let knows = (*next).taken != 0u && (*next).slow_taken != 0u;
  if (knows) {
    (*next).exponent = within_limits(exponent_of(rule, *next), (*next).significand);
  } else {
    (*next).exponent = (*next).before;
  }
}

// The bits of 2^-exponent / significand, of one of [1, 2), rounded to nearest: as many bits of the quotient as an f32 has.
fn inverse_of(significand: u32, exponent: i32) -> u32 {
  let divisor = (significand & 0x7fffffu) | 0x800000u;
  if (divisor == 0x800000u) {
    return u32(127 - exponent) << 23u;
  }
  var rest = 0x800000u;
  var found = 0u;
  for (var bit = 0u; bit < 24u; bit++) {
    rest <<= 1u;
    let fits = rest >= divisor;
    rest -= select(0u, divisor, fits);
    found = (found << 1u) | select(0u, 1u, fits);
  }
  // Never half of the divisor's last unit: an odd divisor leaves no tie, and an even one ends before.
  found += select(0u, 1u, 2u * rest > divisor);
  return (u32(126 - exponent) << 23u) + (found - 0x800000u);
}

fn next_scale(seen: Seen) -> Scale {
  var next = scale;
  next.before = next.exponent;
  next.updates = counted(next.updates, true);
  next.overflows = counted(next.overflows, seen.overflow);
  next.skipped = counted(next.skipped, seen.skipped);
  next.bad_steps = select(0u, one_more(next.bad_steps), seen.skipped);
  if (next.diverged != 0u) {
    return next;
  }
  next.since_move = one_more(next.since_move);
  if (seen.overflow) {
    after_overflow(&next);
  } else {
    after_good(&next);
  }
  if (params.predicts != 0u) {
    predict(&next, seen);
  }
  next.factor = next.significand + (bitcast<u32>(next.exponent) << 23u);
  next.inverse = inverse_of(next.significand, next.exponent);
  return next;
}

@compute @workgroup_size(1)
fn scale_update() {
  let next = next_scale(seen_in_all());
  scale = next;
  report.scale = next;
}
