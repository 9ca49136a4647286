// One step of Lion on a set of parameters: the sign of a mean of gradients, decoupled weight decay.
//
// Oracle: `cases/lion.rs`; agreement: bits.
//
// `lion`: launched as `lib/fused.cuh` says.
//
// The arithmetic of an element is that of `rules/lion.rs`, in whose `mul_add` alone products and sums share a rounding.
#include "lib/fused.cuh"

// `LionConstants`.
struct Lion {
  static constexpr uint32_t MOMENTS = 1;
  float first, negative_lr, shrink, beta1, grad_weight, beta2, kept_weight;

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[MOMENTS]) const {
    float& momentum = moments[0];
    bool shrinks = shrink != 1.0f && parameter != 0.0f;
    float mixed = __fadd_rn(__fmul_rn(momentum, beta1), __fmul_rn(gradient, grad_weight));
    // NaN stays NaN.
    float direction = mixed == 0.0f ? 0.0f : mixed > 0.0f ? 1.0f : mixed < 0.0f ? -1.0f : mixed;
    momentum = __fmaf_rn(gradient, kept_weight, __fmul_rn(momentum, beta2));
    float change = __fmul_rn(direction, negative_lr);
    parameter = __fadd_rn(__fmul_rn(parameter, shrink), change);
    return shrinks || change != 0.0f;
  }
};

STEP_KERNEL(lion, Lion)
// sass: lion loads 6 stores 6 slots 240
