// The sigmoid linear unit x / (1 + e^-x), and its gradient.
//
// Oracle: `cases/silu.rs`; agreement: forward 4 ulp before it is narrowed, and the last code after; backward 2^-21 of the
// gradient, since the slope passes through 0 near -1.28.
//
// `silu`, `silu_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Not the host's exponential; `lib/math.cuh` has its formulas. That of -|x| alone is taken, which cannot overflow, and below 0
// it is multiplied in before it may underflow.
#include "lib/math.cuh"
#include "lib/pointwise.cuh"

// e^-|x|, and 1 / (1 + e^-|x|). From a magnitude of 120 on it is 0 in f32, times the magnitude too. Written so that NaN passes.
struct Logistic {
  float magnitude;
  Scaled e;
  float value, inverse;
};

__device__ __forceinline__ Logistic logistic(float x) {
  float magnitude = fabsf(x);
  magnitude = magnitude > 120.0f ? 120.0f : magnitude;
  Scaled e = exp_parts(-magnitude);
  float value = value_of(e);
  return {magnitude, e, value, __fdiv_rn(1.0f, __fadd_rn(1.0f, value))};
}

__device__ __forceinline__ float not_a_number() { return __uint_as_float(0x7fc00000u); }

__device__ __forceinline__ float silu_of(float x) {
  if (__float_as_uint(x) == 0xff800000u) return not_a_number();
  Logistic of = logistic(x);
  if (x < 0.0f) return value_of({__fmul_rn(-of.magnitude, __fmul_rn(of.e.significand, of.inverse)), of.e.exponent});
  return __fmul_rn(x, of.inverse);
}

// s * (1 + x * (1 - s)) with s = 1 / (1 + e^-x).
__device__ __forceinline__ float silu_slope(float x) {
  if ((__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u) return not_a_number();
  Logistic of = logistic(x);
  if (x < 0.0f) {
    float factor = __fmaf_rn(-of.magnitude, of.inverse, 1.0f);
    return value_of({__fmul_rn(__fmul_rn(of.e.significand, of.inverse), factor), of.e.exponent});
  }
  return __fmul_rn(of.inverse, __fmaf_rn(of.magnitude, __fmul_rn(of.value, of.inverse), 1.0f));
}

extern "C" __global__ void __launch_bounds__(256) silu(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return silu_of(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    silu_backward(const void* grad, const void* input, void* result, DType dtype, uint64_t len) {
  zip(grad, input, result, dtype, len, [](float g, float x) { return __fmul_rn(g, silu_slope(x)); });
}
// sass: silu loads 2 stores 2 slots 123
// sass: silu_backward loads 4 stores 2 slots 169
