// The scale after an iteration, by what its passes and steps found, and a report of both for the host.
//
// Oracle: `cases/scale_update.rs`, which is `LossScale::next`; agreement: bits: integers, and factors that round once.
//
// `scale_update`: one invocation. The findings were copied into `report` before, parts first, then verdicts; behind it, the new
// scale stands before them.
//
// Sums of exponents are saturated, as the oracle does. No float is computed with: the factors are put together from bits, and the
// inverse is divided in integers, since division is not rounded here.
//!use lib/log_max.wgsl

const MAX_EXPONENT = 126;

// Bits of `binade_grad_scaler::Tolerance::numbers`: what sets the count of overflows to 0, and whether `amount` is a share.
const BACKOFF = 1u;
const GOOD_STEP = 2u;
const GROWTH = 4u;
const SHARE = 8u;

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
  if ((rule.tolerance & SHARE) != 0u) {
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
    if ((rule.tolerance & BACKOFF) != 0u) {
      (*next).tolerated = 0u;
    }
    (*next).since_move = 0u;
  }
  (*next).diverged = select(0u, 1u, has_diverged);
}

fn after_good(next: ptr<function, Scale>) {
  let rule = params;
  (*next).good_steps = one_more((*next).good_steps);
  if ((rule.tolerance & GOOD_STEP) != 0u) {
    (*next).tolerated = 0u;
  }
  if (rule.growth <= 0 || (*next).good_steps < rule.growth_interval) {
    return;
  }
  (*next).exponent = within_limits(sum_of((*next).exponent, rule.growth), (*next).significand);
  (*next).good_steps = 0u;
  if ((rule.tolerance & GROWTH) != 0u) {
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
