// The arithmetic of LARS and LARC: that of `rules/lars.rs`, every operation of it rounded, before that of SGD.
#pragma once
#include "sgd.cuh"
#include "whole.cuh"

// `LarsConstants`.
struct Lars {
  // Without a decay: it is scaled with the gradient.
  Sgd sgd;
  float weight_decay, trust_coefficient, clips, eps, ratio;

  __device__ __forceinline__ void measure(float gradient, float parameter, float (&)[WHOLE_MOMENTS], float (&values)[2]) const {
    values[0] = parameter, values[1] = gradient;
  }

  __device__ __forceinline__ void measured(const WholeNorms& norms) {
    ratio = 1.0f;
    if (norms.first == 0.0f || norms.second == 0.0f) {
      weight_decay = 0.0f;
      return;
    }
    float decayed = __fadd_rn(norms.second, __fmul_rn(norms.first, weight_decay));
    float rate = __fdiv_rn(__fmul_rn(trust_coefficient, norms.first), __fadd_rn(decayed, eps));
    if (clips == 0.0f) {
      ratio = rate;
      return;
    }
    float lr = -sgd.negative_lr;
    if (lr > 0.0f) ratio = __fdiv_rn(rate, lr);
    // NaN stays NaN.
    if (ratio > 1.0f) ratio = 1.0f;
  }

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[WHOLE_MOMENTS]) const {
    gradient = __fadd_rn(gradient, __fmul_rn(weight_decay, parameter));
    float momentum[Sgd::MOMENTS] = {moments[0]};
    bool updated = sgd.element(__fmul_rn(gradient, ratio), parameter, momentum);
    moments[0] = momentum[0];
    return updated;
  }
};
