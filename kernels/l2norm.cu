// The L2 norm of all elements of a set together.
//
// Oracle: `cases/norm.rs`; agreement: one unit in the last place: squares are summed in f64, in a fixed order.
//
// `l2norm`: a block of 256 for each chunk of the set's rows, at least one block; the block that is done last sums up what
// the others left in `partials`, one each, and writes `norm`. `done` is a counter that is 0 before and after.
//
// A square of an f32 is exact in f64, and no sum of 2^64 of them overflows there.
#include "lib/ahead.cuh"
#include "lib/reduce.cuh"

struct Row {
  const void* values;
  uint64_t len, first_chunk;
  DType dtype;
  uint32_t pad;
};

static_assert(sizeof(Row) == 32, "as `structs.rs`");

__device__ __forceinline__ double sum_of_squares(const Row& row, const Chunk& chunk) {
  double squares = 0.0;
  each_value<EIGHT_TOO>(row, chunk, [&](const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) squares = __fma_rn((double)x[k], (double)x[k], squares);
  });
  return reduce<Sum>(squares);
}

extern "C" __global__ void __launch_bounds__(THREADS) l2norm(
    const Row* rows, uint32_t row_count, uint64_t chunks, uint64_t chunk_len, double* partials, uint32_t* done,
    float* norm) {
  double squares = 0.0;
  if (blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
    squares = sum_of_squares(rows[chunk.row], chunk);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = squares;
  if (!is_last_block(done)) return;
  double all = 0.0;
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += THREADS) all = __dadd_rn(all, partials[i]);
  all = reduce<Sum>(all);
  if (threadIdx.x == 0) *norm = __double2float_rn(__dsqrt_rn(all));
}
// sass: l2norm loads 4 read 2 slots 109 flight 96
// sass: l2norm loads 1 slots 62
// sass: l2norm loads 2 read 2 slots 39
