// Rows of a table that a sparse gradient has: which they are, and their way out of the table and back.
//
// Oracle: `cases/sparse.rs`; agreement: bits.
//
// `unique_rows`: a grid of any size strides over positions that `embedding_backward_move` has sorted. Each row that is named has the
// place of its first sorted position, and all other places are empty: they have the row -1. `join_rows` strides over the rows of two
// gradients, and makes those of the second one empty where `found` is raised. `gather_rows` and `scatter_rows` stride over the units
// of all rows, of 16, 4 or 2 bytes: gather fills empty places with zeros, scatter passes over them, and does nothing where `found` is
// raised; neither goes beyond the table. `sparse_overflow`, one thread, gives an overflow of this parameter its index in the table.
//
// The plain loop lists rows without empty places. Here their number stays on the device, and no result hangs on them.
#include "lib/order.cuh"
#include "lib/state.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) unique_rows(
    const uint64_t* sorted, const int64_t* indices, uint64_t count, uint64_t rows, int64_t* unique, int64_t* places) {
  Keys keys = {indices, rows};
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t i = first; i < count; i += step) {
    uint64_t position = sorted[i], row = keys.of(position), place = start_of(keys, sorted, count, row);
    bool is_row = row < rows;
    unique[i] = is_row && place == i ? (int64_t)row : -1;
    places[position] = is_row ? (int64_t)place : -1;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) join_rows(
    const int64_t* sum, uint64_t sum_count, const int64_t* more, uint64_t more_count, const Found* found, int64_t* joined) {
  bool is_skipped = found != nullptr && is_raised(found);
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t i = first; i < sum_count + more_count; i += step) {
    if (i < sum_count) joined[i] = sum[i];
    else joined[i] = is_skipped ? -1 : more[i - sum_count];
  }
}

template <class Unit>
__device__ __forceinline__ void
gather(const Unit* table, uint64_t extent, const int64_t* rows, uint64_t count, uint64_t width, Unit* output, Unit zero) {
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t i = first; i < count * width; i += step) {
    uint64_t place = i / width;
    // Negative ones are large ones.
    uint64_t row = (uint64_t)rows[place];
    output[i] = row < extent ? table[row * width + (i - place * width)] : zero;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) gather_rows(
    const void* table, uint64_t extent, const int64_t* rows, uint64_t count, uint64_t width, uint32_t bytes, void* output) {
  if (bytes == 16) gather((const uint4*)table, extent, rows, count, width, (uint4*)output, make_uint4(0, 0, 0, 0));
  else if (bytes == 4) gather((const uint32_t*)table, extent, rows, count, width, (uint32_t*)output, 0u);
  else gather((const uint16_t*)table, extent, rows, count, width, (uint16_t*)output, (uint16_t)0);
}

template <class Unit>
__device__ __forceinline__ void
scatter(const Unit* values, const int64_t* rows, uint64_t count, uint64_t width, Unit* table, uint64_t extent) {
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t i = first; i < count * width; i += step) {
    uint64_t place = i / width;
    uint64_t row = (uint64_t)rows[place];
    if (row < extent) table[row * width + (i - place * width)] = values[i];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) scatter_rows(
    const void* values, const int64_t* rows, uint64_t count, uint64_t width, uint32_t bytes, const Found* found, void* table,
    uint64_t extent) {
  if (found != nullptr && is_raised(found)) return;
  if (bytes == 16) scatter((const uint4*)values, rows, count, width, (uint4*)table, extent);
  else if (bytes == 4) scatter((const uint32_t*)values, rows, count, width, (uint32_t*)table, extent);
  else scatter((const uint16_t*)values, rows, count, width, (uint16_t*)table, extent);
}

extern "C" __global__ void sparse_overflow(Found* found, uint32_t parameter, const int64_t* rows, uint64_t width) {
  if (found->raised == 0 || found->parameter != parameter) return;
  uint64_t place = found->index / width;
  found->index = (uint64_t)rows[place] * width + (found->index - place * width);
}
// sass: unique_rows scalar 6 slots 72; an index and its place, and a bisection, each of 8 bytes
// sass: join_rows scalar 2 slots 15; an index each, of 8 bytes
// sass: gather_rows loads 1 stores 1 scalar 1 slots 50; the row, of 8 bytes
// sass: scatter_rows loads 1 stores 1 scalar 1 slots 50; the row, of 8 bytes
