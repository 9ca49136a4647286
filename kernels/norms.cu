// The norm of all elements of a set together and of each of its tensors: the root of the sum of squares, or the largest absolute value.
//
// Oracle: `cases/multi_tensor.rs`; agreement: one unit in the last place: squares are summed in f64, in a fixed order. The largest has
// the bits of the plain loop.
//
// `norms`: a block of 256 for each chunk of the set's rows, at least one block; the block that is done last joins what the others
// left in `partials`, one each, and writes `norms`: that of all, then that of each row. `done` is a counter that is 0 before and after.
//
// A square of an f32 is exact in f64, and no sum of 2^64 of them overflows there. Magnitudes are compared as bits, where NaN is largest.
#include "lib/ahead.cuh"
#include "lib/team.cuh"

struct Row {
  const void* values;
  uint64_t len, first_chunk;
  DType dtype;
  uint32_t pad;
};

struct Partial {
  double squares;
  uint32_t largest, pad;
};

static_assert(sizeof(Row) == 32 && sizeof(Partial) == 16, "as `structs.rs`");

enum Norm : uint32_t { L2 = 0, INFINITY_NORM = 1 };

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

__device__ __forceinline__ void add(double& squares, uint32_t& largest, const Partial& partial) {
  squares = __dadd_rn(squares, partial.squares);
  largest = larger(largest, partial.largest);
}

__device__ __forceinline__ float norm_of(Norm which, double squares, uint32_t largest) {
  return which == L2 ? __double2float_rn(__dsqrt_rn(squares)) : __uint_as_float(largest);
}

__device__ __forceinline__ double sum_of_squares(const Row& row, const Chunk& chunk) {
  double squares = 0.0;
  each_value(row, chunk, [&](const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) squares = __fma_rn((double)x[k], (double)x[k], squares);
  });
  return reduce<Sum>(squares);
}

__device__ __forceinline__ uint32_t largest_of(const Row& row, const Chunk& chunk) {
  uint32_t largest = 0;
  each_value(row, chunk, [&](const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) largest = larger(largest, __float_as_uint(x[k]) & 0x7fffffffu);
  });
  return reduce<Max>(largest);
}

// Each row's norm, a team of threads for each row in turn.
__device__ __forceinline__ void
each_norm(const Row* rows, uint32_t row_count, uint64_t chunks, Norm which, const Partial* partials, float* norms) {
  each_row_of_teams(rows, row_count, chunks, [&](uint32_t row, uint64_t chunk, uint64_t end) {
    double squares = 0.0;
    uint32_t largest = 0;
#pragma unroll 4
    for (; chunk < end; chunk += TEAM) add(squares, largest, partials[chunk]);
    squares = team_join<Sum>(squares);
    largest = team_join<Max>(largest);
    if (row < row_count && threadIdx.x % TEAM == 0) norms[row] = norm_of(which, squares, largest);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS, 6) norms(
    const Row* rows, uint32_t row_count, uint64_t chunks, uint64_t chunk_len, Norm which, Partial* partials, uint32_t* done,
    float* norms) {
  double squares = 0.0;
  uint32_t largest = 0;
  if (blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
    // Two loops, since one that kept both would have too few registers for what is on its way.
    if (which == L2) squares = sum_of_squares(rows[chunk.row], chunk);
    else largest = largest_of(rows[chunk.row], chunk);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = {squares, largest, 0};
  if (!is_last_block(done)) return;
  squares = 0.0, largest = 0;
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += THREADS) add(squares, largest, partials[i]);
  squares = reduce<Sum>(squares);
  largest = reduce<Max>(largest);
  if (threadIdx.x == 0) norms[0] = norm_of(which, squares, largest);
  each_norm(rows, row_count, chunks, which, partials, norms + 1);
}
// sass: norms loads 4 read 2 slots 109 flight 96
// sass: norms loads 2 read 2 slots 38
