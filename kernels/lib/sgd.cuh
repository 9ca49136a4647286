// One element's step of stochastic gradient descent: `step/sgd.rs`, in whose `mul_add` alone products and sums share a
// rounding.
#pragma once
#include "step.cuh"

__device__ __forceinline__ void element(const SgdConstants& c, float gradient, float& parameter, float& momentum) {
  if (c.weight_decay != 0.0f) gradient = __fmaf_rn(parameter, c.weight_decay, gradient);
  if (c.momentum != 0.0f) {
    momentum = c.first != 0.0f ? gradient : __fmaf_rn(gradient, c.undamped, __fmul_rn(momentum, c.momentum));
    gradient = c.nesterov != 0.0f ? __fmaf_rn(momentum, c.momentum, gradient) : momentum;
  }
  parameter = __fmaf_rn(gradient, c.negative_lr, parameter);
}
