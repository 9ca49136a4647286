// The approximation x / (1 + e^-z) of the Gaussian error linear unit, z = 2 sqrt(2 / pi) (x + 0.044715 x^3), and its gradient.
//
// Oracle: `cases/gelu_tanh.rs`; agreement: 9 ulp and 2 |z| ulp before it is narrowed, and the last code after; backward by the same
// mass, since the slope passes through 0 near -0.75.
//
// `gelu_tanh`, `gelu_tanh_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Not by tanh, of which 1 is taken off: the exponential of -|z| keeps the digits of the lower tail, and is multiplied in before it may
// underflow. `lib/math.cuh` has its formulas.
#include "lib/math.cuh"
#include "lib/pointwise.cuh"

// |x|, e^-|z|, 1 / (1 + e^-|z|), and the derivative of z. From a magnitude of 16 on e^-|z| is 0 in f32, times z's derivative
// too. Written so that NaN passes.
struct Approximation {
  float magnitude;
  Scaled e;
  float value, inverse, steepness;
};

__device__ __forceinline__ Approximation approximation(float x) {
  float magnitude = fabsf(x);
  magnitude = magnitude > 16.0f ? 16.0f : magnitude;
  float square = __fmul_rn(magnitude, magnitude);
  float z = __fmul_rn(magnitude, __fmaf_rn(square, 0.0713548163f, 1.59576912f));
  z = z > 120.0f ? 120.0f : z;
  Scaled e = exp_parts(-z);
  float value = value_of(e);
  return {magnitude, e, value, __fdiv_rn(1.0f, __fadd_rn(1.0f, value)), __fmaf_rn(square, 0.214064449f, 1.59576912f)};
}

__device__ __forceinline__ float gelu_tanh_of(float x) {
  Approximation of = approximation(x);
  if (x < 0.0f) return value_of({__fmul_rn(-of.magnitude, __fmul_rn(of.e.significand, of.inverse)), of.e.exponent});
  return __fmul_rn(x, of.inverse);
}

// s * (1 + x * z' * (1 - s)) with s = 1 / (1 + e^-z).
__device__ __forceinline__ float gelu_tanh_slope(float x) {
  Approximation of = approximation(x);
  float product = __fmul_rn(of.magnitude, of.steepness);
  if (x < 0.0f) {
    float factor = __fmaf_rn(-product, of.inverse, 1.0f);
    return value_of({__fmul_rn(__fmul_rn(of.e.significand, of.inverse), factor), of.e.exponent});
  }
  return __fmul_rn(of.inverse, __fmaf_rn(product, __fmul_rn(of.value, of.inverse), 1.0f));
}

extern "C" __global__ void __launch_bounds__(256) gelu_tanh(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return gelu_tanh_of(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    gelu_tanh_backward(const void* grad, const void* input, void* result, DType dtype, uint64_t len) {
  zip(grad, input, result, dtype, len, [](float g, float x) { return __fmul_rn(g, gelu_tanh_slope(x)); });
}
// sass: gelu_tanh loads 2 stores 2 slots 452
// sass: gelu_tanh_backward loads 4 stores 2 slots 546
