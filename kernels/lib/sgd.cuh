// The arithmetic of SGD on one element: that of `rules/sgd.rs`, in whose `mul_add` alone products and sums share a rounding. LARS steps by it too.
#pragma once
#include "fused.cuh"

// `SgdConstants`.
struct Sgd {
  static constexpr uint32_t MOMENTS = 1;
  float first, negative_lr, weight_decay, momentum, undamped, nesterov;

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[MOMENTS]) const {
    if (weight_decay != 0.0f) gradient = __fmaf_rn(parameter, weight_decay, gradient);
    if (momentum != 0.0f) {
      float& kept = moments[0];
      kept = first != 0.0f ? gradient : __fmaf_rn(gradient, undamped, __fmul_rn(kept, momentum));
      gradient = nesterov != 0.0f ? __fmaf_rn(kept, momentum, gradient) : kept;
    }
    parameter = __fmaf_rn(gradient, negative_lr, parameter);
    return __fmul_rn(gradient, negative_lr) != 0.0f;
  }
};
