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

// Elements i to i + count of `from`, of bf16, f16 or f32; those beyond are 0.
__device__ __forceinline__ void load_eight(
    const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  uint32_t code[GROUP];
  const void* at = dtype == F32 ? (const void*)((const uint32_t*)from + i) : (const void*)((const uint16_t*)from + i);
  if (count == GROUP && is_aligned(at, 16)) {
    uint4 low = ((const uint4*)at)[0];
    if (dtype == F32) {
      uint4 high = ((const uint4*)at)[1];
      code[0] = low.x, code[1] = low.y, code[2] = low.z, code[3] = low.w;
      code[4] = high.x, code[5] = high.y, code[6] = high.z, code[7] = high.w;
    } else {
      uint32_t words[GROUP / 2] = {low.x, low.y, low.z, low.w};
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) code[k] = words[k / 2] >> 16 * (k % 2) & 0xffff;
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) code[k] = k < count ? ((const uint32_t*)at)[k] : 0;
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) code[k] = k < count ? ((const uint16_t*)at)[k] : 0;
  }
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) x[k] = of_code(dtype, code[k]);
}

// The first `count` of a group as elements i, i + 1, ... of `to`, of bf16, f16 or f32.
__device__ __forceinline__ void store_eight(
    void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  uint32_t code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = to_code(dtype, x[k]);
  void* at = dtype == F32 ? (void*)((uint32_t*)to + i) : (void*)((uint16_t*)to + i);
  if (count == GROUP && is_aligned(at, 16)) {
    if (dtype == F32) {
      ((uint4*)at)[0] = make_uint4(code[0], code[1], code[2], code[3]);
      ((uint4*)at)[1] = make_uint4(code[4], code[5], code[6], code[7]);
    } else {
      *(uint4*)at = make_uint4(
          code[0] | code[1] << 16, code[2] | code[3] << 16, code[4] | code[5] << 16, code[6] | code[7] << 16);
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      if (k < count) ((uint32_t*)at)[k] = code[k];
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      if (k < count) ((uint16_t*)at)[k] = (uint16_t)code[k];
    }
  }
}
