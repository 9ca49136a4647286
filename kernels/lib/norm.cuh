// What a row or channel is normalised by, as `binade-cpu`'s `Stats`.
#pragma once
#include "rows.cuh"

struct Stats {
  float mean;
  // 1 / sqrt(var + eps).
  float rstd;
};

static_assert(sizeof(Stats) == 8, "as `layer_norm.rs`");

// Rounds both, once.
__device__ __forceinline__ Stats stats_of(double mean, double var, float eps) {
  double deviation = __dsqrt_rn(__dadd_rn(var, (double)eps));
  return {__double2float_rn(mean), __double2float_rn(__drcp_rn(deviation))};
}

// The value in deviations from the mean.
__device__ __forceinline__ float normal(const Stats& stats, float x) {
  return __fmul_rn(__fsub_rn(x, stats.mean), stats.rstd);
}
