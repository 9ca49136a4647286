// Exponentials of a row, each less the largest element, so that no finite row overflows.
#pragma once
#include "held.cuh"
#include "math.cuh"

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

// Has no exponential, and is no row's largest.
__device__ __forceinline__ float nothing() { return __uint_as_float(0xff800000u); }

// Whether a row keeps its elements, or their exponentials once they are known.
enum Kept { ELEMENTS, EXPONENTIALS };

// A NaN is passed over by the largest, but not by the sum. What is beyond the row is to be `nothing`.
template <Kept KEPT>
__device__ __forceinline__ Normaliser normaliser(const Team& team, const Row& row) {
  Normaliser own = {nothing(), 0.0};
  float max = own.max;
  row.each<FIRST>(team, [&](uint64_t, uint32_t, bool, const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) max = fmaxf(max, x[k]);
  });
  own.max = team.all<Max>(max);
  // Where the elements stay, they need not be kept again.
  row.each<KEPT == EXPONENTIALS ? AGAIN : LAST>(team, [&](uint64_t, uint32_t, bool, float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      x[k] = own.exp(x[k]);
      own.sum = __dadd_rn(own.sum, (double)x[k]);
    }
  });
  own.sum = team.sum(own.sum);
  return own;
}
