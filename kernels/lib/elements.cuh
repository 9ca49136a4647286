// Eight elements at a time between memory of any element type and f32 registers: in accesses of 16 bytes, or as many as four
// elements or eight-bit types have, where the address allows, else one by one. Which thread gets which element never depends
// on the address.
#pragma once
#include <cuda_fp16.h>

#include "codec.cuh"

// Element types, numbered as the host's `autocast::code` numbers them.
enum DType : uint32_t { BF16 = 0, F16_ = 1, F32 = 2, E4M3 = 3, E5M2 = 4 };

// Which of them a kernel meets: what is not needed is not compiled.
enum Types { SIXTEEN_AND_32, EIGHT_TOO };

constexpr uint32_t GROUP = 8;

// A group is two runs of four elements, APART from one's first to the other's: NEXT where it is eight neighbours.
constexpr uint32_t NEXT = 4;

// The elements from a whole group's first to behind its last.
template <uint32_t APART>
constexpr uint32_t REACH = APART + 4;

// Where a group's element lies, counted from its first.
__device__ __forceinline__ constexpr uint32_t offset_in(uint32_t k, uint32_t apart) { return k % 4 + k / 4 * apart; }

template <uint32_t APART>
__device__ __forceinline__ constexpr uint32_t offset_in(uint32_t k) {
  return offset_in(k, APART);
}

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

// Eight f32, in runs that begin at multiples of 16 bytes.
template <uint32_t APART = NEXT>
__device__ __forceinline__ void load_whole(const float* from, float (&x)[GROUP]) {
  float4 low = *(const float4*)from, high = *(const float4*)(from + APART);
  x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
  x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

// The codes of two runs of four elements of sixteen bits, two to a word.
__device__ __forceinline__ uint4 two_runs(const uint16_t* from, uint32_t apart) {
  uint2 low = *(const uint2*)from, high = *(const uint2*)(from + apart);
  return make_uint4(low.x, low.y, high.x, high.y);
}

template <uint32_t APART>
__device__ __forceinline__ uint4 load_halves(const uint16_t* from) {
  return APART == NEXT ? *(const uint4*)from : two_runs(from, APART);
}

__device__ __forceinline__ void widen(DType dtype, uint4 codes, float (&x)[GROUP]) {
  uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    x[2 * k] = from_16(dtype, words[k] & 0xffff);
    x[2 * k + 1] = from_16(dtype, words[k] >> 16);
  }
}

// True if a group's runs of `size` bytes an element can be moved whole.
template <uint32_t APART>
__device__ __forceinline__ bool is_whole_at(const void* at, uint32_t size, uint32_t count) {
  uint32_t bytes = size * (APART == NEXT ? GROUP : 4);
  return count == REACH<APART> && is_aligned(at, bytes < 16 ? bytes : 16);
}

// The group at element i of `from`, of which what is `count` elements on or more is 0. Whole groups of an aligned array take
// wide loads.
template <Types TYPES = SIXTEEN_AND_32, uint32_t APART = NEXT>
__device__ __forceinline__ void load_group(const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  if (dtype == F32 && is_whole_at<APART>((const float*)from + i, 4, count)) {
    load_whole<APART>((const float*)from + i, x);
  } else if (dtype <= F16_ && is_whole_at<APART>((const uint16_t*)from + i, 2, count)) {
    widen(dtype, load_halves<APART>((const uint16_t*)from + i), x);
  } else if (TYPES == EIGHT_TOO && dtype > F32 && is_whole_at<APART>((const uint8_t*)from + i, 1, count)) {
    const uint8_t* at = (const uint8_t*)from + i;
    uint32_t low, high;
    if (APART == NEXT) low = ((const uint2*)at)->x, high = ((const uint2*)at)->y;
    else low = *(const uint32_t*)at, high = *(const uint32_t*)(at + APART);
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      x[k] = from_8(dtype, low >> 8 * k & 0xff);
      x[k + 4] = from_8(dtype, high >> 8 * k & 0xff);
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      x[k] = offset_in<APART>(k) < count ? load<TYPES>(from, dtype, i + offset_in<APART>(k)) : 0.0f;
    }
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

// 4 bytes at a multiple of 4.
__device__ __forceinline__ void store_4(void* to, uint32_t a) {
  asm volatile("st.global.b32 [%0], %1;" : : "l"(__cvta_generic_to_global(to)), "r"(a) : "memory");
}

// The codes of a group as that at element i of `to`, but for what is `count` elements on or more.
template <Types TYPES, uint32_t APART = NEXT>
__device__ __forceinline__ void put_group(void* to, DType dtype, uint64_t i, uint32_t count, const uint32_t (&code)[GROUP]) {
  if (dtype == F32 && is_whole_at<APART>((uint32_t*)to + i, 4, count)) {
    store_16((uint32_t*)to + i, code[0], code[1], code[2], code[3]);
    store_16((uint32_t*)to + i + APART, code[4], code[5], code[6], code[7]);
  } else if (dtype <= F16_ && is_whole_at<APART>((uint16_t*)to + i, 2, count)) {
    uint16_t* at = (uint16_t*)to + i;
    uint32_t a = code[0] | code[1] << 16, b = code[2] | code[3] << 16;
    uint32_t c = code[4] | code[5] << 16, d = code[6] | code[7] << 16;
    if (APART == NEXT) store_16(at, a, b, c, d);
    else store_8(at, a, b), store_8(at + APART, c, d);
  } else if (TYPES == EIGHT_TOO && dtype > F32 && is_whole_at<APART>((uint8_t*)to + i, 1, count)) {
    uint8_t* at = (uint8_t*)to + i;
    uint32_t low = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
    uint32_t high = code[4] | code[5] << 8 | code[6] << 16 | code[7] << 24;
    if (APART == NEXT) store_8(at, low, high);
    else store_4(at, low), store_4(at + APART, high);
  } else {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      if (offset_in<APART>(k) < count) put<TYPES>(to, dtype, i + offset_in<APART>(k), code[k]);
    }
  }
}

template <Types TYPES = SIXTEEN_AND_32, uint32_t APART = NEXT>
__device__ __forceinline__ void store_group(void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  uint32_t code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = code_of<TYPES>(dtype, x[k]);
  put_group<TYPES, APART>(to, dtype, i, count, code);
}
