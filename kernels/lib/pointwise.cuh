// Element by element: widened, computed in f32, narrowed once.
//
// Arrays of codes are of N elements: one run of four, or the two of a spread group.
#pragma once
#include "compact.cuh"
#include "grid.cuh"

// An element out at the front and another in at the back: a loop over a group that is not unrolled, and needs no index of
// registers.
template <uint32_t N>
__device__ __forceinline__ void turn(uint32_t (&code)[N], uint32_t in) {
#pragma unroll
  for (uint32_t k = 1; k < N; k++) code[k - 1] = code[k];
  code[N - 1] = in;
}

// True if N elements of which the last is less than `count` from element i can be moved whole.
template <uint32_t N>
__device__ __forceinline__ bool is_whole(const void* at, DType dtype, uint64_t i, uint32_t count) {
  uint32_t size = dtype == F32 ? 4 : 2;
  return count == offset_in<SPREAD>(N - 1) + 1 && is_aligned((const char*)at + i * size, 4 * size);
}

// The codes of the elements from i on of `from`, but 0 for what is `count` elements on or more, in less code than `load_group`: what is
// not whole, or not aligned, comes one by one.
template <uint32_t N>
__device__ __forceinline__ void load_codes(const void* from, DType dtype, uint64_t i, uint32_t count, uint32_t (&code)[N]) {
  if (!is_whole<N>(from, dtype, i, count)) {
#pragma unroll
    for (uint32_t k = 0; k < N; k++) code[k] = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < N; k++) {
      uint32_t on = offset_in<SPREAD>(k);
      turn(code, on < count ? code_at(from, dtype, i + on) : 0);
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t run = 0; run < N; run += 4) {
      uint4 codes = *(const uint4*)((const uint32_t*)from + i + offset_in<SPREAD>(run));
      code[run] = codes.x, code[run + 1] = codes.y, code[run + 2] = codes.z, code[run + 3] = codes.w;
    }
  } else {
#pragma unroll
    for (uint32_t run = 0; run < N; run += 4) {
      uint2 codes = *(const uint2*)((const uint16_t*)from + i + offset_in<SPREAD>(run));
      code[run] = codes.x & 0xffff, code[run + 1] = codes.x >> 16;
      code[run + 2] = codes.y & 0xffff, code[run + 3] = codes.y >> 16;
    }
  }
}

// Codes as the elements from i on of `to`, likewise.
template <uint32_t N>
__device__ __forceinline__ void store_codes(void* to, DType dtype, uint64_t i, uint32_t count, uint32_t (&code)[N]) {
  if (!is_whole<N>(to, dtype, i, count)) {
#pragma unroll 1
    for (uint32_t k = 0; k < N && offset_in<SPREAD>(k) < count; k++) {
      put<SIXTEEN_AND_32>(to, dtype, i + offset_in<SPREAD>(k), code[0]);
      turn(code, 0);
    }
  } else if (dtype == F32) {
#pragma unroll
    for (uint32_t run = 0; run < N; run += 4) {
      *(uint4*)((uint32_t*)to + i + offset_in<SPREAD>(run)) =
          make_uint4(code[run], code[run + 1], code[run + 2], code[run + 3]);
    }
  } else {
#pragma unroll
    for (uint32_t run = 0; run < N; run += 4) {
      *(uint2*)((uint16_t*)to + i + offset_in<SPREAD>(run)) =
          make_uint2(code[run] | code[run + 1] << 16, code[run + 2] | code[run + 3] << 16);
    }
  }
}

template <uint32_t N>
__device__ __forceinline__ void load_some(const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[N]) {
  uint32_t code[N];
  load_codes(from, dtype, i, count, code);
#pragma unroll
  for (uint32_t k = 0; k < N; k++) x[k] = __uint_as_float(code[k]);
  if (dtype == F32) return;
#pragma unroll
  for (uint32_t k = 0; k < N; k++) x[k] = of_code(dtype, code[k]);
}

template <uint32_t N>
__device__ __forceinline__ void store_some(void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[N]) {
  uint32_t code[N];
#pragma unroll
  for (uint32_t k = 0; k < N; k++) code[k] = __float_as_uint(x[k]);
  if (dtype != F32) {
#pragma unroll
    for (uint32_t k = 0; k < N; k++) code[k] = to_code(dtype, x[k]);
  }
  store_codes(to, dtype, i, count, code);
}

// `f` of each element. Compiled once for each of a group, so that their chains of operations run side by side.
template <class F>
__device__ __forceinline__ void map(const void* input, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_some(input, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = f(x[k]);
    store_some(output, dtype, i, count, x);
  });
}

// `f` of each pair of elements, likewise.
template <class F>
__device__ __forceinline__ void zip(const void* a, const void* b, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP], y[GROUP];
    load_some(a, dtype, i, count, x);
    load_some(b, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = f(x[k], y[k]);
    store_some(output, dtype, i, count, x);
  });
}
