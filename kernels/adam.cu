// One step of Adam, AdamW or AMSGrad on a set of parameters.
//
// Oracle: `cases/adam.rs`; agreement: bits.
//
// `adam`: launched as `lib/fused.cuh` says.
//
// The arithmetic of an element is that of `rules/adam.rs`, in whose `mul_add` alone products and sums share a rounding.
#include "lib/fused.cuh"

// torch's `lerp`: from whichever end is nearer.
__device__ __forceinline__ float lerp(float from, float to, float weight) {
  float way = __fsub_rn(to, from);
  return weight < 0.5f ? __fmaf_rn(weight, way, from) : __fmaf_rn(-way, __fsub_rn(1.0f, weight), to);
}

// torch's `maximum`: NaN if either is.
__device__ __forceinline__ float maximum(float a, float b) {
  return b > a || b != b ? b : a;
}

// `AdamConstants`.
struct Adam {
  static constexpr uint32_t MOMENTS = 3;
  float root_correction, negative_step, shrink, weight_decay, mean_weight, beta2, square_weight, eps, amsgrad;

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[MOMENTS]) const {
    float &mean = moments[0], &square = moments[1], &largest = moments[2];
    bool shrinks = shrink != 1.0f && parameter != 0.0f;
    parameter = __fmul_rn(parameter, shrink);
    if (weight_decay != 0.0f) gradient = __fmaf_rn(parameter, weight_decay, gradient);
    mean = lerp(mean, gradient, mean_weight);
    square = __fmaf_rn(__fmul_rn(square_weight, gradient), gradient, __fmul_rn(square, beta2));
    if (amsgrad != 0.0f) largest = maximum(largest, square);
    float root = __fsqrt_rn(amsgrad != 0.0f ? largest : square);
    float denominator = __fadd_rn(__fdiv_rn(root, root_correction), eps);
    float change = __fmul_rn(negative_step, mean);
    parameter = __fadd_rn(parameter, __fdiv_rn(change, denominator));
    return shrinks || change != 0.0f;
  }
};

STEP_KERNEL(adam, Adam)
// sass: adam loads 10 stores 10 slots 595
