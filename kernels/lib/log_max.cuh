// `binade_grad_scaler::LogMax` in fixed point, whose documentation says each rounding. Products and shifts of averages are
// unsigned, so that made-up ones wrap; `>>` of what is signed rounds down.
#pragma once
#include "state.cuh"

// `binade_grad_scaler::LogMax`.
struct LogMax {
  int32_t ceiling;
  uint32_t deviations, weight, slow_weight;
};

// Bits of a logarithm's fraction, those that a mean has more, bits of a weight's fraction.
constexpr uint32_t LOG = 20, FINER = 8, WEIGHT = 24;
constexpr int64_t LOG_ONE = 1 << LOG;
constexpr uint32_t ALL = 1u << WEIGHT;
constexpr uint64_t HALF = 1u << (WEIGHT - 1);

// Of a positive number, rounded down: the significand is squared, once for each bit.
__device__ __forceinline__ int64_t log2_of(float value) {
  uint32_t bits = __float_as_uint(value);
  int64_t exponent = (int64_t)((bits >> 23) & 0xff);
  uint32_t significand = bits & 0x007fffffu;
  if (exponent == 0) {
    significand = max(significand, 1u);
    uint32_t up = __clz(significand) - 8;
    exponent = 1 - (int64_t)up;
    significand <<= up;
  }
  // In [1, 2), with 63 bits of fraction.
  uint64_t rest = (uint64_t)(significand | 0x00800000u) << 40;
  int64_t log = exponent - 127;
#pragma unroll 1
  for (uint32_t bit = 0; bit < LOG; bit++) {
    uint64_t square = __umul64hi(rest, rest);
    uint64_t is_two = square >> 63;
    rest = square << (1 - is_two);
    log = (int64_t)((uint64_t)log << 1 | is_two);
  }
  return log;
}

// The largest integer whose square is at most this, bit by bit.
__device__ __forceinline__ uint64_t root(uint64_t value) {
  uint64_t root = 0;
#pragma unroll 1
  for (uint64_t bit = 1ull << 62; bit != 0; bit >>= 2) {
    bool fits = value >= root + bit;
    value -= fits ? root + bit : 0;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return root;
}

// A weighted step from `average` to `value`, rounded to nearest.
__device__ __forceinline__ int64_t toward(int64_t average, uint64_t value, uint32_t weight) {
  uint64_t step = (value - (uint64_t)average) * weight + HALF;
  return (int64_t)((uint64_t)average + (uint64_t)((int64_t)step >> WEIGHT));
}

// The same from the weights taken in to 1.
__device__ __forceinline__ uint32_t take(uint32_t taken, uint32_t weight) {
  taken = min(taken, ALL);
  return taken + (uint32_t)(((uint64_t)(ALL - taken) * weight + HALF) >> WEIGHT);
}

__device__ __forceinline__ void learn(const LogMax& rule, Scale& seen, int64_t log) {
  uint32_t fast = min(rule.weight, ALL), slow = min(rule.slow_weight, ALL);
  uint64_t fine = (uint64_t)log << FINER;
  uint64_t square = (uint64_t)((int64_t)((uint64_t)log * (uint64_t)log) >> LOG);
  seen.mean = toward(seen.mean, fine, fast);
  seen.slow_mean = toward(seen.slow_mean, fine, slow);
  seen.square = toward(seen.square, square, slow);
  seen.taken = take(seen.taken, fast);
  seen.slow_taken = take(seen.slow_taken, slow);
}

// An average of values of which `taken` of the whole weight, and more than nothing, were taken in.
__device__ __forceinline__ int64_t corrected(int64_t average, uint32_t taken) {
  return (int64_t)((uint64_t)average << WEIGHT) / (int64_t)taken;
}

// The exponent that leaves the room asked for, not yet within any limits.
__device__ __forceinline__ int64_t exponent_of(const LogMax& rule, const Scale& seen) {
  int64_t mean = corrected(seen.mean, seen.taken) >> FINER;
  uint64_t slow = (uint64_t)(corrected(seen.slow_mean, seen.slow_taken) >> FINER);
  uint64_t square = (uint64_t)corrected(seen.square, seen.slow_taken);
  int64_t variance = (int64_t)(square - (uint64_t)((int64_t)(slow * slow) >> LOG));
  uint64_t deviation = root((uint64_t)(variance > 0 ? variance : 0) << LOG);
  int64_t room = (int64_t)(deviation * rule.deviations) >> 16;
  uint64_t ceiling = (uint64_t)((int64_t)rule.ceiling * LOG_ONE);
  return (int64_t)(ceiling - (uint64_t)mean - (uint64_t)room) >> LOG;
}
