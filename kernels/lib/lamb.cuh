// The arithmetic of LAMB: that of `rules/lamb.rs`, every operation of it rounded. The measuring pass moves the moments.
#pragma once
#include "whole.cuh"

// `LambConstants`.
struct Lamb {
  float square_correction, mean_correction, first, lr, beta1, beta2, mean_weight, square_weight, eps, weight_decay, is_decoupled, adapts;
  float max_grad_norm, divisor, ratio;

  __device__ __forceinline__ void clip(float norm) {
    if (max_grad_norm > 0.0f && norm > max_grad_norm) divisor = __fdiv_rn(norm, max_grad_norm);
  }

  __device__ __forceinline__ float update(float parameter, const float (&moments)[WHOLE_MOMENTS]) const {
    float mean = __fdiv_rn(moments[0], mean_correction), square = __fdiv_rn(moments[1], square_correction);
    float update = __fdiv_rn(mean, __fadd_rn(__fsqrt_rn(square), eps));
    return is_decoupled != 0.0f ? __fadd_rn(update, __fmul_rn(weight_decay, parameter)) : update;
  }

  __device__ __forceinline__ void measure(float gradient, float parameter, float (&moments)[WHOLE_MOMENTS], float (&values)[2]) const {
    gradient = __fdiv_rn(gradient, divisor);
    if (is_decoupled == 0.0f) gradient = __fadd_rn(gradient, __fmul_rn(weight_decay, parameter));
    float &mean = moments[0], &square = moments[1];
    mean = __fadd_rn(__fmul_rn(mean, beta1), __fmul_rn(mean_weight, gradient));
    square = __fadd_rn(__fmul_rn(square, beta2), __fmul_rn(__fmul_rn(square_weight, gradient), gradient));
    values[0] = parameter, values[1] = update(parameter, moments);
  }

  __device__ __forceinline__ void measured(const WholeNorms& norms) {
    bool is_scaled = adapts != 0.0f && norms.first != 0.0f && norms.second != 0.0f;
    ratio = is_scaled ? __fmul_rn(lr, __fdiv_rn(norms.first, norms.second)) : lr;
  }

  __device__ __forceinline__ bool element(float, float& parameter, float (&moments)[WHOLE_MOMENTS]) const {
    float change = __fmul_rn(ratio, update(parameter, moments));
    parameter = __fsub_rn(parameter, change);
    return change != 0.0f;
  }
};
