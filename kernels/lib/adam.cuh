// One element's step of Adam, AdamW or AMSGrad: `step/adam.rs`, in whose `mul_add` alone products and sums share a rounding.
#pragma once
#include "step.cuh"

// torch's `lerp`: from whichever end is nearer.
__device__ __forceinline__ float lerp(float from, float to, float weight) {
  float way = __fsub_rn(to, from);
  return weight < 0.5f ? __fmaf_rn(weight, way, from) : __fmaf_rn(-way, __fsub_rn(1.0f, weight), to);
}

// torch's `maximum`: NaN if either is.
__device__ __forceinline__ float maximum(float a, float b) {
  return b > a || b != b ? b : a;
}

__device__ __forceinline__ void element(
    const AdamConstants& c, float gradient, float& parameter, float& mean, float& square, float& largest) {
  parameter = __fmul_rn(parameter, c.shrink);
  if (c.weight_decay != 0.0f) gradient = __fmaf_rn(parameter, c.weight_decay, gradient);
  mean = lerp(mean, gradient, c.mean_weight);
  square = __fmaf_rn(__fmul_rn(c.square_weight, gradient), gradient, __fmul_rn(square, c.beta2));
  if (c.amsgrad != 0.0f) largest = maximum(largest, square);
  float root = __fsqrt_rn(c.amsgrad != 0.0f ? largest : square);
  float denominator = __fadd_rn(__fdiv_rn(root, c.root_correction), c.eps);
  parameter = __fadd_rn(parameter, __fdiv_rn(__fmul_rn(c.negative_step, mean), denominator));
}
