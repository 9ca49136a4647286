// The elements of a tensor in another order of its axes.
//
// Oracle: `cases/permute.rs`; agreement: bits, those of NaN among them.
//
// `permute`: a grid of any size of blocks of 256 strides over units of the result, of 2, 4 or 16 bytes, fewer than 2^31.
//
// A unit is an element, or 16 bytes where the last axis stays the last and all lines begin at multiples of them. Extents are known
// before, so that none is divided by. Where the last axis moves, neighbours of the result lie apart in what is read.
#include "lib/divide.cuh"
#include "lib/elements.cuh"
#include "lib/block.cuh"

// Axes of the result, the outermost first; `PermutationBits` of `structs.rs`. Those that are not there have an extent of 1.
struct Permutation {
  uint64_t strides[8];
  Divisor by[8];
};

static_assert(sizeof(Permutation) == 160, "as `structs.rs`");

__device__ __forceinline__ uint64_t place_of(const Permutation& of, uint32_t unit) {
  uint64_t place = 0;
#pragma unroll
  for (int axis = 7; axis > 0; axis--) {
    if (of.by[axis].by == 1) continue;
    Divided at = divide(unit, of.by[axis]);
    place += at.rest * of.strides[axis];
    unit = at.quotient;
  }
  return place + unit * of.strides[0];
}

template <class Unit>
__device__ __forceinline__ void move(const Unit* from, Unit* to, const Permutation& of, uint32_t count) {
#pragma unroll 1
  for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) to[i] = from[place_of(of, i)];
}

extern "C" __global__ void __launch_bounds__(THREADS) permute(
    const void* from, void* to, const Permutation of, uint32_t count, uint64_t bytes) {
  if (bytes == 16) move((const uint4*)from, (uint4*)to, of, count);
  else if (bytes == 4) move((const uint32_t*)from, (uint32_t*)to, of, count);
  else move((const uint16_t*)from, (uint16_t*)to, of, count);
}
// sass: permute loads 1 stores 1 slots 43
