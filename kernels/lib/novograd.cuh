// The arithmetic of NovoGrad: that of `rules/novograd.rs`, every operation of it rounded.
#pragma once
#include "whole.cuh"

// `NovoGradConstants`.
struct NovoGrad {
  float square_correction, mean_correction, first, lr, beta1, beta2, mean_weight, norm_weight, eps, weight_decay, is_inside, by_largest;
  float init_zero, denominator;

  __device__ __forceinline__ void measure(float gradient, float, float (&)[WHOLE_MOMENTS], float (&values)[2]) const {
    values[0] = gradient, values[1] = 0.0f;
  }

  __device__ __forceinline__ void measured(const WholeNorms& norms, float* running) {
    bool is_largest = by_largest != 0.0f;
    float now = is_largest ? norms.largest : norms.first;
    float before = first != 0.0f && init_zero == 0.0f ? now : *running;
    float kept = __fmul_rn(beta2, before), taken = __fmul_rn(norm_weight, now);
    if (is_largest) *running = __fadd_rn(kept, taken);
    else *running = __fsqrt_rn(__fadd_rn(__fmul_rn(kept, before), __fmul_rn(taken, now)));
    denominator = __fadd_rn(__fdiv_rn(*running, __fsqrt_rn(square_correction)), eps);
  }

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[WHOLE_MOMENTS]) const {
    float decay = __fmul_rn(weight_decay, parameter);
    if (is_inside != 0.0f) gradient = __fadd_rn(__fdiv_rn(gradient, denominator), decay);
    float& mean = moments[0];
    mean = __fadd_rn(__fmul_rn(beta1, mean), __fmul_rn(mean_weight, gradient));
    float update = __fdiv_rn(mean, mean_correction);
    if (is_inside == 0.0f) update = __fadd_rn(__fdiv_rn(update, denominator), decay);
    float change = __fmul_rn(lr, update);
    parameter = __fsub_rn(parameter, change);
    return change != 0.0f;
  }
};
