// One step of Adagrad on a set of parameters: the sum of squares, and coupled weight decay.
//
// Oracle: `cases/adagrad.rs`; agreement: bits.
//
// `adagrad`: launched as `lib/fused.cuh` says.
//
// The arithmetic of an element is that of `rules/adagrad.rs`, in whose `mul_add` alone products and sums share a rounding.
#include "lib/fused.cuh"

// `AdagradConstants`.
struct Adagrad {
  static constexpr uint32_t MOMENTS = 1;
  float first, negative_step, weight_decay, eps;

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[MOMENTS]) const {
    float& sum = moments[0];
    if (weight_decay != 0.0f) gradient = __fmaf_rn(parameter, weight_decay, gradient);
    sum = __fmaf_rn(gradient, gradient, sum);
    float change = __fmul_rn(negative_step, gradient);
    parameter = __fadd_rn(parameter, __fdiv_rn(change, __fadd_rn(__fsqrt_rn(sum), eps)));
    return change != 0.0f;
  }
};

STEP_KERNEL(adagrad, Adagrad)
// sass: adagrad loads 6 stores 6 slots 344
