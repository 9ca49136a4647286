// The scale after an iteration, by what its passes and steps found, and a report of both for the host.
//
// Oracle: `cases/scale_update.rs`, which is `LossScale::next`; agreement: bits: integers, and factors that round once.
//
// `scale_update`: one block of 64 threads, one for each finding: parts first, then verdicts. More than 64 are looked at in
// several launches, each of which carries on from `seen`; all but the last have `is_last` 0 and change nothing else.
// `report` takes the new scale and, behind it, this launch's findings and what is in `fault`, which may be null. `before` and
// `after` may be the same.
//
// Exponents are clamped in 64 bits, where the oracle saturates: both end within the limits. What may wrap, where averages
// were made up, is computed unsigned.
#include "lib/fault.cuh"
#include "lib/log_max.cuh"
#include "lib/state.cuh"

constexpr uint32_t MOST = 64;
constexpr int64_t MAX_EXPONENT = 126;

// Bits of `binade_grad_scaler::Tolerance::numbers`: what sets the count of overflows to 0, and whether `amount` is a share.
enum Tolerance : uint32_t { BACKOFF = 1, GOOD_STEP = 2, GROWTH = 4, SHARE = 8 };

// `binade_grad_scaler::LossScale`, as far as `next` reads it.
struct Rule {
  int32_t growth, backoff, min, max;
  uint32_t growth_interval, patience;
  uint32_t tolerance, amount;
  uint32_t predicts;
  LogMax log_max;
};

static_assert(sizeof(Rule) == 52, "as `structs.rs`");

struct Findings {
  const Found* at[MOST];
};

struct Seen {
  uint32_t overflow, skipped;
  float magnitude;
};

static_assert(sizeof(Seen) == 12, "as `kernels.rs`");

// 2^exponent, exactly.
__device__ __forceinline__ float power_of_two(int32_t exponent) {
  return __uint_as_float((uint32_t)(exponent + 127) << 23);
}

__device__ __forceinline__ int32_t within(const Rule& rule, int64_t exponent, const Scale& scale) {
  // The highest exponent whose inverse is a normal number.
  int64_t highest = scale.significand == 1.0f ? MAX_EXPONENT : MAX_EXPONENT - 1;
  exponent = exponent < rule.max ? exponent : rule.max;
  exponent = exponent > rule.min ? exponent : rule.min;
  exponent = exponent > -MAX_EXPONENT ? exponent : -MAX_EXPONENT;
  return (int32_t)(exponent < highest ? exponent : highest);
}

__device__ __forceinline__ uint32_t one_more(uint32_t count) {
  return count == 0xffffffffu ? count : count + 1;
}

// Whether the overflow counted last is one too many.
__device__ __forceinline__ bool is_spent(const Rule& rule, const Scale& scale) {
  if (rule.tolerance & SHARE) return (uint64_t)scale.tolerated << 16 >= (uint64_t)rule.amount * scale.since_move;
  return scale.tolerated >= rule.amount;
}

__device__ __forceinline__ void after_overflow(const Rule& rule, Scale& scale) {
  scale.tolerated = one_more(scale.tolerated);
  scale.good_steps = 0;
  scale.diverged = scale.bad_steps >= rule.patience;
  if (!is_spent(rule, scale)) return;
  bool may_fall = rule.backoff > 0 || rule.predicts;
  scale.diverged |= may_fall && scale.exponent <= rule.min;
  scale.exponent = within(rule, (int64_t)scale.exponent - rule.backoff, scale);
  if (rule.tolerance & BACKOFF) scale.tolerated = 0;
  scale.since_move = 0;
}

__device__ __forceinline__ void after_good(const Rule& rule, Scale& scale) {
  scale.good_steps = one_more(scale.good_steps);
  if (rule.tolerance & GOOD_STEP) scale.tolerated = 0;
  if (rule.growth <= 0 || scale.good_steps < rule.growth_interval) return;
  scale.exponent = within(rule, (int64_t)scale.exponent + rule.growth, scale);
  scale.good_steps = 0;
  if (rule.tolerance & GROWTH) scale.tolerated = 0;
  scale.since_move = 0;
}

// The scale that `LogMax` predicts, in place of the one counted to.
__device__ __forceinline__ void predict(const LogMax& rule, const Rule& limits, Scale& scale, Seen seen) {
  if (seen.overflow) {
    learn(rule, scale, (int64_t)rule.ceiling * LOG_ONE);
  } else if (seen.magnitude > 0.0f) {
    int64_t of_scale = (int64_t)scale.before * LOG_ONE + log2_of(scale.significand);
    learn(rule, scale, log2_of(seen.magnitude) - of_scale);
  }
  bool knows = scale.taken != 0 && scale.slow_taken != 0;
  scale.exponent = knows ? within(limits, exponent_of(rule, scale), scale) : scale.before;
}

__device__ __forceinline__ Scale next(const Rule& rule, Scale scale, Seen seen) {
  scale.before = scale.exponent;
  scale.updates += 1;
  scale.overflows += seen.overflow;
  scale.skipped += seen.skipped;
  scale.bad_steps = seen.skipped ? one_more(scale.bad_steps) : 0;
  if (scale.diverged) return scale;
  scale.since_move = one_more(scale.since_move);
  if (seen.overflow) {
    after_overflow(rule, scale);
  } else {
    after_good(rule, scale);
  }
  if (rule.predicts) predict(rule.log_max, rule, scale, seen);
  scale.factor = __fmul_rn(scale.significand, power_of_two(scale.exponent));
  scale.inverse = __fdiv_rn(power_of_two(-scale.exponent), scale.significand);
  return scale;
}

extern "C" __global__ void __launch_bounds__(MOST) scale_update(
    const Scale* before, Scale* after, const __grid_constant__ Rule rule, const __grid_constant__ Findings findings,
    uint32_t parts, uint32_t count, Seen* seen, uint32_t is_last, Scale* report, const Fault* fault) {
  __shared__ uint32_t raised[MOST];
  __shared__ float magnitude[MOST];
  uint32_t i = threadIdx.x;
  raised[i] = 0;
  if (i < count) {
    Found found = *findings.at[i];
    raised[i] = is_raised(&found);
    magnitude[i] = found.magnitude;
    ((Found*)(report + 1))[i] = found;
  }
  __syncthreads();
  if (i != 0) return;
  Seen now = *seen;
  for (uint32_t k = 0; k < count; k++) {
    now.overflow |= raised[k];
    if (k >= parts) now.skipped |= raised[k];
    now.magnitude = fmaxf(now.magnitude, magnitude[k]);
  }
  if (!is_last) {
    *seen = now;
    return;
  }
  *seen = {0, 0, 0.0f};
  Scale scale = next(rule, *before, now);
  *after = scale;
  *report = scale;
  *(Fault*)((Found*)(report + 1) + count) = fault == nullptr ? Fault{} : *fault;
}
