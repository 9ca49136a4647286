// Adds a micro-batch's gradients to a window's sums, in f32, unless the micro-batch is bad.
//
// Oracle: `cases/accumulate.rs`; agreement: bits.
//
// `accumulate`: a block of 256 for each chunk of the rows; it reads which sums have begun. `accumulate_mark`, launched
// after it, a thread for each row, says that they have.
//
// A sum that has not begun is not read: it becomes the gradient, as if zero had been added, but for zero's sign.
#include "lib/set.cuh"
#include "lib/state.cuh"

struct Row {
  float* sum;
  const void* values;
  // Whether the sum has begun.
  uint32_t* present;
  // Of the gradient, as in other sets.
  const uint32_t* also;
  uint64_t len, first_chunk;
  DType dtype;
  uint32_t pad;
};

static_assert(sizeof(Row) == 56, "as `structs.rs`");

__device__ __forceinline__ bool is_there(const Row& row) {
  return row.also == nullptr || *row.also != 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) accumulate(
    const Row* rows, uint32_t row_count, uint64_t chunk_len, const Found* found, const Owed* owed) {
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  if (!is_there(row)) return;
  bool begun = *row.present != 0;
  float inverse = owed->inverse, clip = owed->clip;
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float sum[GROUP], x[GROUP];
    // The sum is loaded first: the values are widened as they arrive, and both loads are then in flight.
    if (begun) load_spread(row.sum, F32, i, count, sum);
    load_spread(row.values, row.dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float value = settle(x[k], inverse, clip);
      x[k] = begun ? __fadd_rn(sum[k], value) : value;
    }
    store_spread(row.sum, F32, i, count, x);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) accumulate_mark(
    const Row* rows, uint32_t row_count, const Found* found) {
  uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= row_count || is_raised(found)) return;
  if (is_there(rows[i])) *rows[i].present = 1;
}
// sass: accumulate loads 4 stores 2 slots 81
