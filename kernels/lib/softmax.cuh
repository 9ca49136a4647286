// Exponentials of a row, each less the largest element, so that no finite row overflows.
#pragma once
#include "math.cuh"
#include "rows.cuh"

struct Normaliser {
  float max;
  // Of the exponentials of what the elements fall short of `max` by: from 1 on, or NaN.
  double sum;

  __device__ __forceinline__ float exp(float x) const { return exp_of(__fsub_rn(x, max)); }
  // What the exponentials are to be multiplied by.
  __device__ __forceinline__ float factor() const { return __double2float_rn(__drcp_rn(sum)); }

  // The logarithm of the sum, to the error of the one of f32: what rounding the sum cut off is added to the logarithm, so
  // that a sum of a little more than 1 has one of a little more than 0.
  __device__ __forceinline__ double log() const {
    float rounded = __double2float_rn(sum);
    double rest = __ddiv_rn(__dsub_rn(sum, (double)rounded), (double)rounded);
    return __dadd_rn((double)log_of(rounded), rest);
  }
};

// A NaN is passed over by the largest, but not by the sum.
__device__ __forceinline__ Normaliser normaliser(
    const Team& team, const void* from, DType dtype, uint64_t start, uint64_t width) {
  Normaliser row = {__uint_as_float(0xff800000u), 0.0};
#pragma unroll 1
  for (uint32_t pass = 0; pass < 2; pass++) {
    float max = row.max;
    team.each(width, [&](uint64_t i, uint32_t count) {
      float x[GROUP];
      load_eight(from, dtype, start + i, count, x);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        if (k >= count) break;
        if (pass == 0) max = fmaxf(max, x[k]);
        else row.sum = __dadd_rn(row.sum, (double)row.exp(x[k]));
      }
    });
    if (pass == 0) row.max = team.all<Max>(max);
  }
  row.sum = team.sum(row.sum);
  return row;
}
