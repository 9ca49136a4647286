// Exponential, logarithm and hyperbolic tangent in f32, in operations that round alike on every GPU and in the interpreter:
// the toolkit's own are made of approximations whose bits are the GPU's. No operation but a sum, a product, an `fma` and, in
// tanh, a quotient.
//
// Errors, measured against f64 functions of the host over every f32, in units of the last place of the result (2^-149 below
// the normal numbers): exp_of 1.01, log_of 0.93, tanh_of 1.47. NaN gives NaN; limits and signs of zeros are right.
//
// Coefficients are Remez's minimax polynomials of the function named, by relative error, made with 40 digits and rounded to f32.
#pragma once
#include <stdint.h>

// significand * 2^exponent: what an exponential is before it may underflow, so that factors can be taken in first.
struct Scaled {
  float significand;
  int32_t exponent;
};

// Horner's scheme, from the coefficient of the highest power.
template <uint32_t N>
__device__ __forceinline__ float polynomial(float x, const float (&from_highest)[N]) {
  float sum = from_highest[0];
#pragma unroll
  for (uint32_t k = 1; k < N; k++) sum = __fmaf_rn(sum, x, from_highest[k]);
  return sum;
}

// For exponents of -126 to 127.
__device__ __forceinline__ float power_of_two(int32_t exponent) { return __uint_as_float((uint32_t)(exponent + 127) << 23); }

// Rounded once, as long as the significand is near 1: the first of two factors is exact.
__device__ __forceinline__ float value_of(Scaled x) {
  int32_t half = x.exponent >> 1;
  return __fmul_rn(__fmul_rn(x.significand, power_of_two(half)), power_of_two(x.exponent - half));
}

// e^(x + low) for |x| <= 150 and a small `low`: 2^n * e^r with |r| <= ln 2 / 2. `n` is found in the last places of a sum with 1.5 * 2^23; ln 2 comes off
// in two parts, the first of which has few enough bits that its product with `n` is exact.
__device__ __forceinline__ Scaled exp_parts(float x, float low = 0.0f) {
  constexpr float SHIFT = 12582912.0f;
  float shifted = __fmaf_rn(x, 1.44269504f, SHIFT), n = __fsub_rn(shifted, SHIFT);
  float r = __fmaf_rn(n, -0.693145752f, x);
  r = __fadd_rn(__fmaf_rn(n, -1.42860677e-06f, r), low);
  // (e^r - 1 - r) / r^2, to 2^-28.2 of e^r.
  const float rest[] = {0x1.6a244ap-10f, 0x1.1239e2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f};
  float above_one = __fmaf_rn(__fmul_rn(r, r), polynomial(r, rest), r);
  return {__fadd_rn(1.0f, above_one), (int32_t)(__float_as_uint(shifted) - __float_as_uint(SHIFT))};
}

// e^x. Beyond the limits it is infinite or 0; written so that NaN passes them.
__device__ __forceinline__ float exp_of(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  return value_of(exp_parts(x));
}

// ln x: x = 2^n * (1 + f) with 1 + f between the roots of 1/2 and 2. That of a negative number is NaN, that of 0 -inf.
__device__ __forceinline__ float log_of(float x) {
  if (!(x > 0.0f)) return __uint_as_float(x == 0.0f ? 0xff800000u : 0x7fc00000u);
  if (__float_as_uint(x) == 0x7f800000u) return x;
  // Subnormal numbers are made normal.
  bool is_small = x < 0x1p-126f;
  uint32_t bits = __float_as_uint(is_small ? __fmul_rn(x, 0x1p23f) : x);
  int32_t n = (int32_t)(bits - 0x3f3504f3u) >> 23;
  float f = __fsub_rn(__uint_as_float(bits - ((uint32_t)n << 23)), 1.0f);
  // (ln(1 + f) - f) / f^2, to 2^-27.8 of ln(1 + f).
  const float rest[] = {-0x1.383080p-4f, 0x1.084872p-3f, -0x1.0f375ap-3f, 0x1.22719ap-3f, -0x1.54276ep-3f,
                        0x1.99a3f2p-3f,  -0x1.000426p-2f, 0x1.555550p-2f, -0x1.fffff8p-2f};
  float log = __fmaf_rn(__fmul_rn(f, f), polynomial(f, rest), f);
  return __fmaf_rn((float)(is_small ? n - 23 : n), 0.693147182f, log);
}

// tanh x: below 0.55 by itself, so that nothing cancels; above, 1 - 2 / (e^2x + 1).
__device__ __forceinline__ float tanh_of(float x) {
  uint32_t bits = __float_as_uint(x), sign = bits & 0x80000000u;
  float magnitude = __uint_as_float(bits ^ sign), tanh;
  if (magnitude < 0.55f) {
    // (tanh x / x - 1) / x^2 of x^2, to 2^-29.9 of tanh x / x.
    const float rest[] = {-0x1.9bba40p-8f, 0x1.595680p-6f, -0x1.b92bbap-5f, 0x1.110d3cp-3f, -0x1.55554cp-2f};
    float square = __fmul_rn(magnitude, magnitude);
    tanh = __fmaf_rn(__fmul_rn(square, polynomial(square, rest)), magnitude, magnitude);
  } else {
    tanh = __fsub_rn(1.0f, __fdiv_rn(2.0f, __fadd_rn(exp_of(__fmul_rn(2.0f, magnitude)), 1.0f)));
  }
  return __uint_as_float(__float_as_uint(tanh) | sign);
}
