// `load_group` and `store_group` of `elements.cuh` in less code, for kernels that have many of them: elements
// are moved as codes, whole or one by one, and then converted without branches.
#pragma once
#include "elements.cuh"

__device__ __forceinline__ float of_code(DType dtype, uint32_t code) {
  uint32_t half = __float_as_uint(__half2float(__ushort_as_half((unsigned short)code)));
  uint32_t narrow = dtype == BF16 ? code << 16 : half;
  return __uint_as_float(dtype == F32 ? code : narrow);
}

__device__ __forceinline__ uint32_t to_code(DType dtype, float value) {
  uint32_t bits = __float_as_uint(value);
  bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  uint32_t bf16 = is_nan ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t narrow = dtype == BF16 ? bf16 : __half_as_ushort(__float2half_rn(value));
  return dtype == F32 ? bits : narrow;
}

__device__ __forceinline__ float load_one(const void* from, DType dtype, uint64_t i) {
  return of_code(dtype, code_at(from, dtype, i));
}

__device__ __forceinline__ void store_one(void* to, DType dtype, uint64_t i, float value) {
  put<SIXTEEN_AND_32>(to, dtype, i, to_code(dtype, value));
}

// True if a group of bf16, f16 or f32 can be moved whole.
__device__ __forceinline__ bool is_whole_group(const void* at, DType dtype, uint32_t count, uint32_t apart) {
  return count == apart + 4 && is_aligned(at, dtype == F32 || apart == NEXT ? 16 : 8);
}

__device__ __forceinline__ const void* place_in(const void* from, DType dtype, uint64_t i) {
  return dtype == F32 ? (const void*)((const uint32_t*)from + i) : (const void*)((const uint16_t*)from + i);
}

// The group at element i of `from`, of bf16, f16 or f32, whose runs of four are `apart`; what is `count` elements on or more is 0.
__device__ __forceinline__ void load_eight(
    const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP], uint32_t apart = NEXT) {
  uint32_t code[GROUP];
  const void* at = place_in(from, dtype, i);
  if (is_whole_group(at, dtype, count, apart)) {
    if (dtype == F32) {
      uint4 low = *(const uint4*)at, high = *(const uint4*)((const uint32_t*)at + apart);
      code[0] = low.x, code[1] = low.y, code[2] = low.z, code[3] = low.w;
      code[4] = high.x, code[5] = high.y, code[6] = high.z, code[7] = high.w;
    } else {
      uint4 codes = apart == NEXT ? *(const uint4*)at : two_runs((const uint16_t*)at, apart);
      uint32_t words[GROUP / 2] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) code[k] = words[k / 2] >> 16 * (k % 2) & 0xffff;
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint32_t on = offset_in(k, apart);
      code[k] = on < count ? ((const uint32_t*)at)[on] : 0;
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint32_t on = offset_in(k, apart);
      code[k] = on < count ? ((const uint16_t*)at)[on] : 0;
    }
  }
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) x[k] = of_code(dtype, code[k]);
}

// Four neighbours from element i of `from` on, as x[FIRST] on.
template <uint32_t FIRST>
__device__ __forceinline__ void load_four(const void* from, DType dtype, uint64_t i, float (&x)[GROUP]) {
  uint32_t code[4];
  const void* at = place_in(from, dtype, i);
  if (!is_aligned(at, dtype == F32 ? 16 : 8)) {
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) code[k] = code_at(from, dtype, i + k);
  } else if (dtype == F32) {
    uint4 codes = *(const uint4*)at;
    code[0] = codes.x, code[1] = codes.y, code[2] = codes.z, code[3] = codes.w;
  } else {
    uint2 codes = *(const uint2*)at;
    code[0] = codes.x & 0xffff, code[1] = codes.x >> 16, code[2] = codes.y & 0xffff, code[3] = codes.y >> 16;
  }
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) x[FIRST + k] = of_code(dtype, code[k]);
}

// The group as that at element i of `to`, of bf16, f16 or f32, but for what is `count` elements on or more.
__device__ __forceinline__ void store_eight(
    void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP], uint32_t apart = NEXT) {
  uint32_t code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = to_code(dtype, x[k]);
  void* at = (void*)place_in(to, dtype, i);
  if (is_whole_group(at, dtype, count, apart)) {
    if (dtype == F32) {
      *(uint4*)at = make_uint4(code[0], code[1], code[2], code[3]);
      *(uint4*)((uint32_t*)at + apart) = make_uint4(code[4], code[5], code[6], code[7]);
    } else {
      uint32_t a = code[0] | code[1] << 16, b = code[2] | code[3] << 16;
      uint32_t c = code[4] | code[5] << 16, d = code[6] | code[7] << 16;
      if (apart == NEXT) *(uint4*)at = make_uint4(a, b, c, d);
      else *(uint2*)at = make_uint2(a, b), *(uint2*)((uint16_t*)at + apart) = make_uint2(c, d);
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint32_t on = offset_in(k, apart);
      if (on < count) ((uint32_t*)at)[on] = code[k];
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint32_t on = offset_in(k, apart);
      if (on < count) ((uint16_t*)at)[on] = (uint16_t)code[k];
    }
  }
}
