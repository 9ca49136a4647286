// Lines of elements from one tensor to another: a part of a tensor along one axis, or its gradient, or tensors that are joined.
//
// Oracle: `cases/narrow.rs`, `cases/cat.rs`; agreement: bits, those of NaN among them.
//
// `narrow`: a grid of any size of blocks of 256 strides over units of 2, 4 or 16 bytes, fewer than 2^31.
//
// A unit is an element, or 16 bytes where all lines begin and end at multiples of them.
#include "lib/divide.cuh"
#include "lib/block.cuh"

// Units before the first line and from one to the next, of both tensors, and those of a line; `LinesBits` of `structs.rs`.
struct Lines {
  uint64_t from_first, from_stride, to_first, to_stride;
  Divisor by_len;
  uint32_t pad;
};

static_assert(sizeof(Lines) == 48, "as `structs.rs`");

template <class Unit>
__device__ __forceinline__ void copy(const Unit* from, Unit* to, const Lines& lines, uint32_t count) {
#pragma unroll 1
  for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
    Divided at = divide(i, lines.by_len);
    uint64_t source = lines.from_first + at.quotient * lines.from_stride + at.rest;
    to[lines.to_first + at.quotient * lines.to_stride + at.rest] = from[source];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) narrow(
    const void* from, void* to, const Lines lines, uint32_t count, uint64_t bytes) {
  if (bytes == 16) copy((const uint4*)from, (uint4*)to, lines, count);
  else if (bytes == 4) copy((const uint32_t*)from, (uint32_t*)to, lines, count);
  else copy((const uint16_t*)from, (uint16_t*)to, lines, count);
}
// sass: narrow loads 1 stores 1 slots 26
