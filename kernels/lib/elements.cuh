// Eight elements at a time between memory of any element type and f32 registers: in accesses of 16 bytes (8 for eight-bit
// types, which have no more) where the address allows, else one by one. Which thread gets which element never depends on
// the address.
#pragma once
#include <cuda_fp16.h>

#include "codec.cuh"

// Element types, numbered as the host's `autocast::code` numbers them.
enum DType : uint32_t { BF16 = 0, F16_ = 1, F32 = 2, E4M3 = 3, E5M2 = 4 };

// Which of them a kernel meets: what is not needed is not compiled.
enum Types { SIXTEEN_AND_32, EIGHT_TOO };

constexpr uint32_t GROUP = 8;

__device__ __forceinline__ float from_16(DType dtype, uint32_t code) {
  if (dtype == BF16) return __uint_as_float(code << 16);
  return __half2float(__ushort_as_half((unsigned short)code));
}

__device__ __forceinline__ float from_8(DType dtype, uint32_t code) {
  return dtype == E4M3 ? E4m3::decode(code) : E5m2::decode(code);
}

// To nearest, ties to even, beyond the largest as told; bf16 by its bits, since 7.5 has no instruction for it.
__device__ __forceinline__ uint32_t to_16(DType dtype, float value, OnOverflow on_overflow = NON_FINITE) {
  if (on_overflow == SATURATE) {
    return dtype == BF16 ? Bf16::nearest(value, SATURATE) : F16::nearest(value, SATURATE);
  }
  if (dtype == F16_) return __half_as_ushort(__float2half_rn(value));
  uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

__device__ __forceinline__ uint32_t to_8(DType dtype, float value, OnOverflow on_overflow) {
  return dtype == E4M3 ? E4m3::nearest(value, on_overflow) : E5m2::nearest(value, on_overflow);
}

template <Types TYPES = SIXTEEN_AND_32>
__device__ __forceinline__ float load(const void* from, DType dtype, uint64_t i) {
  if (dtype == F32) return ((const float*)from)[i];
  if (TYPES == SIXTEEN_AND_32 || dtype <= F16_) return from_16(dtype, ((const uint16_t*)from)[i]);
  return from_8(dtype, ((const uint8_t*)from)[i]);
}

// The code of an element of bf16, f16 or f32.
__device__ __forceinline__ uint32_t code_at(const void* from, DType dtype, uint64_t i) {
  return dtype == F32 ? ((const uint32_t*)from)[i] : ((const uint16_t*)from)[i];
}

// The code of an element that was rounded already.
template <Types TYPES>
__device__ __forceinline__ void put(void* to, DType dtype, uint64_t i, uint32_t code) {
  if (dtype == F32) ((uint32_t*)to)[i] = code;
  else if (TYPES == SIXTEEN_AND_32 || dtype <= F16_) ((uint16_t*)to)[i] = (uint16_t)code;
  else ((uint8_t*)to)[i] = (uint8_t)code;
}

template <Types TYPES>
__device__ __forceinline__ uint32_t code_of(DType dtype, float value, OnOverflow on_overflow = NON_FINITE) {
  if (dtype == F32) return __float_as_uint(value);
  if (TYPES == SIXTEEN_AND_32 || dtype <= F16_) return to_16(dtype, value, on_overflow);
  return to_8(dtype, value, on_overflow);
}

__device__ __forceinline__ bool is_aligned(const void* at, uint32_t bytes) {
  return ((uint64_t)at & (bytes - 1)) == 0;
}

// Eight f32 that begin at a multiple of 16 bytes.
__device__ __forceinline__ void load_whole(const float* from, float (&x)[GROUP]) {
  float4 low = ((const float4*)from)[0], high = ((const float4*)from)[1];
  x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
  x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

// Elements i to i + count of `from`; those beyond are 0. Whole groups of an aligned array take 16-byte loads.
template <Types TYPES = SIXTEEN_AND_32>
__device__ __forceinline__ void load_group(const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  if (count == GROUP && dtype == F32 && is_aligned((const float*)from + i, 16)) {
    load_whole((const float*)from + i, x);
  } else if (count == GROUP && dtype <= F16_ && is_aligned((const uint16_t*)from + i, 16)) {
    uint4 codes = *(const uint4*)((const uint16_t*)from + i);
    uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      x[2 * k] = from_16(dtype, words[k] & 0xffff);
      x[2 * k + 1] = from_16(dtype, words[k] >> 16);
    }
  } else if (TYPES == EIGHT_TOO && count == GROUP && dtype > F32 && is_aligned((const uint8_t*)from + i, 8)) {
    uint2 codes = *(const uint2*)((const uint8_t*)from + i);
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      x[k] = from_8(dtype, codes.x >> 8 * k & 0xff);
      x[k + 4] = from_8(dtype, codes.y >> 8 * k & 0xff);
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = k < count ? load<TYPES>(from, dtype, i + k) : 0.0f;
  }
}

// 16 bytes of global memory at a multiple of 16, in one store. Said in words: where the pointer came from memory, as a row's
// does, the compiler makes four stores of a `uint4`, and each costs what one of 16 bytes does.
__device__ __forceinline__ void store_16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// 8 bytes at a multiple of 8, likewise.
__device__ __forceinline__ void store_8(void* to, uint32_t a, uint32_t b) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b) : "memory");
}

// The first `count` codes of a group as elements i, i + 1, ... of `to`.
template <Types TYPES>
__device__ __forceinline__ void put_group(void* to, DType dtype, uint64_t i, uint32_t count, const uint32_t (&code)[GROUP]) {
  if (count == GROUP && dtype == F32 && is_aligned((uint32_t*)to + i, 16)) {
    store_16((uint32_t*)to + i, code[0], code[1], code[2], code[3]);
    store_16((uint32_t*)to + i + 4, code[4], code[5], code[6], code[7]);
  } else if (count == GROUP && dtype <= F16_ && is_aligned((uint16_t*)to + i, 16)) {
    store_16(
        (uint16_t*)to + i, code[0] | code[1] << 16, code[2] | code[3] << 16, code[4] | code[5] << 16,
        code[6] | code[7] << 16);
  } else if (TYPES == EIGHT_TOO && count == GROUP && dtype > F32 && is_aligned((uint8_t*)to + i, 8)) {
    store_8(
        (uint8_t*)to + i, code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24,
        code[4] | code[5] << 8 | code[6] << 16 | code[7] << 24);
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      if (k < count) put<TYPES>(to, dtype, i + k, code[k]);
    }
  }
}

template <Types TYPES = SIXTEEN_AND_32>
__device__ __forceinline__ void store_group(void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  uint32_t code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = code_of<TYPES>(dtype, x[k]);
  put_group<TYPES>(to, dtype, i, count, code);
}
