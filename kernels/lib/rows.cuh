// Rows of a matrix, each of them a team's: a warp where rows are short, a block of THREADS where they are long. Which of them
// follows from the width alone, and with it the order of every sum over a row.
//
// All threads of a team come to `all`; those of a block's warps need not meet where each is a team of its own.
#pragma once
#include "compact.cuh"
#include "reduce.cuh"

// Rows that are wider go to a block: a warp takes four rounds of groups over one of this width. `rows.rs` has it too.
constexpr uint64_t WARP_ROW = 1024;

struct Team {
  uint32_t rank, size;
  // Which of a block's teams it is, and how many there are.
  uint32_t line, lines;
  // Of the team's first row, and to its next.
  uint64_t first, step;

  __device__ __forceinline__ explicit Team(uint64_t width) {
    if (width > WARP_ROW) {
      rank = threadIdx.x, size = THREADS;
      line = 0, lines = 1;
    } else {
      rank = threadIdx.x % 32, size = 32;
      line = threadIdx.x / 32, lines = THREADS / 32;
    }
    first = (uint64_t)blockIdx.x * lines + line, step = (uint64_t)gridDim.x * lines;
  }

  // Elements from a group's first run of four to its second. Runs lie next to those of neighbouring threads: a warp accesses whole sectors.
  __device__ __forceinline__ uint32_t apart() const { return size * 4; }

  // Joins a value of each thread, and tells it to every one.
  template <class Join, class T>
  __device__ __forceinline__ T all(T value) const {
    // Both of a pair join the same two values, so that all have the same bits.
#pragma unroll 1
    for (int distance = 16; distance > 0; distance /= 2) {
      value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    if (size == 32) return value;
    __shared__ T warps[THREADS / 32];
    // Others may still read what was joined before.
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
#pragma unroll 1
    for (uint32_t warp = 1; warp < THREADS / 32; warp++) value = Join::join(value, warps[warp]);
    return value;
  }

  __device__ __forceinline__ double sum(double value) const { return all<Sum>(value); }
};
