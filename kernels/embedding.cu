// Rows of a table, by index, and the gradient of the table.
//
// Oracle: `cases/embedding.rs`; agreement: bits, any NaN for any NaN where gradients are summed.
//
// `embedding`: a grid of any size strides over runs of four elements of a row. Backward, in turn: `embedding_backward_count`
// and `embedding_backward_move`, grids of any size of blocks of 256, once for each eight bits of the table's length, sort the
// positions by index; `embedding_backward_starts`, a row a thread, says where each row's begin; `embedding_backward` writes rows
// that few indices point to, and `embedding_backward_long` the others: one of their grids strides over runs of four elements of
// the table, the other's blocks of 256 over 32 columns of each LONG-th sorted position. `done` is a counter that is 0 before and
// after. An index that points nowhere is left in `fault`, its row is NaN, and backward passes over it.
//
// Backward sums in f32 and in the order of the indices, as the plain loop does, without float atomics: the order of a stable sort
// is the indices' own, whatever the grid. Estimates: gradients are read once; about 128 bytes go to and fro for each index and
// pass, and a bisection for each row of the table. What stays serial is the chain of additions of one element: an index that occurs
// n times takes a block n / 256 rounds, each four times two loads' latency and 256 dependent additions, an estimated five
// microseconds; 32 columns are a block's, so that others do the rest at the same time.
#include "lib/fault.cuh"
#include "lib/order.cuh"
#include "lib/pointwise.cuh"

__device__ __forceinline__ uint32_t nan_code(DType dtype) {
  return dtype == F32 ? 0x7fc00000u : dtype == BF16 ? 0x7fc0u : 0x7e00u;
}

extern "C" __global__ void __launch_bounds__(256) embedding(
    const void* table, const int64_t* indices, void* output, DType dtype, uint64_t count, uint64_t rows, uint64_t width,
    Fault* fault, uint32_t launch) {
  // Rows of no elements have a group too, for their index to be looked at.
  uint64_t runs = width == 0 ? 1 : (width + 3) / 4;
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t task = first; task < count * runs; task += step) {
    uint64_t position = task / runs, column = (task - position * runs) * 4;
    uint64_t row = (uint64_t)indices[position];
    uint32_t some = width - column < 4 ? (uint32_t)(width - column) : 4;
    uint32_t code[4];
    if (row < rows) {
      // Unread: codes of NaN keep their bits.
      load_codes(table, dtype, row * width + column, some, code);
    } else {
      if (column == 0) leave_fault(fault, EMBEDDING, launch, indices, position, rows);
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) code[k] = nan_code(dtype);
    }
    store_codes(output, dtype, position * width + column, some, code);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) embedding_backward_count(
    const uint64_t* from, const int64_t* indices, uint64_t count, uint64_t rows, uint32_t shift, uint64_t chunk_len,
    uint32_t* counts, uint64_t* firsts, uint32_t* done, Fault* fault, uint32_t launch) {
  Order order = {{indices, rows}, from, count, chunk_len, shift};
  count_digits(order, counts, [&](uint64_t position) {
    if (from == nullptr && !order.keys.is_row(position)) leave_fault(fault, EMBEDDING, launch, indices, position, rows);
  });
  place_digits(order, counts, firsts, done);
}

extern "C" __global__ void __launch_bounds__(THREADS) embedding_backward_move(
    const uint64_t* from, const int64_t* indices, uint64_t count, uint64_t rows, uint32_t shift, uint64_t chunk_len,
    const uint64_t* firsts, uint64_t* to) {
  move_positions({{indices, rows}, from, count, chunk_len, shift}, firsts, to);
}

extern "C" __global__ void __launch_bounds__(THREADS) embedding_backward_starts(
    const uint64_t* sorted, const int64_t* indices, uint64_t count, uint64_t rows, uint64_t* starts) {
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  // One more than there are rows, where the last one's end.
  for (uint64_t row = first; row <= rows; row += step) starts[row] = start_of({indices, rows}, sorted, count, row);
}

// Rows with more positions are `embedding_backward_long`'s. Among so many sorted positions in a row that are one row's, there is
// one that this divides.
constexpr uint64_t LONG = 128;

extern "C" __global__ void __launch_bounds__(THREADS) embedding_backward(
    const void* grad, const uint64_t* sorted, const uint64_t* starts, void* result, DType dtype, uint64_t rows,
    uint64_t width) {
  uint64_t runs = (width + 3) / 4;
  uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x, step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t task = first; task < rows * runs; task += step) {
    uint64_t row = task / runs, column = (task - row * runs) * 4;
    uint64_t start = starts[row], end = starts[row + 1];
    if (end - start > LONG) continue;
    uint32_t some = width - column < 4 ? (uint32_t)(width - column) : 4;
    float sums[4] = {};
#pragma unroll 1
    for (uint64_t i = start; i < end; i++) {
      float g[4];
      load_some(grad, dtype, sorted[i] * width + column, some, g);
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) sums[k] = __fadd_rn(sums[k], g[k]);
    }
    store_some(result, dtype, row * width + column, some, sums);
  }
}

constexpr uint32_t COLUMNS = 32, LINES = THREADS / COLUMNS, STAGE = 256;
static_assert(STAGE % (LINES * GROUP) == 0, "a stage is filled by whole rounds");

extern "C" __global__ void __launch_bounds__(THREADS) embedding_backward_long(
    const void* grad, const int64_t* indices, const uint64_t* sorted, const uint64_t* starts, void* result, DType dtype,
    uint64_t count, uint64_t rows, uint64_t width) {
  // Gradients that all warps bring in, and the first one adds up.
  __shared__ float staged[STAGE][COLUMNS];
  uint32_t across = threadIdx.x % COLUMNS, line = threadIdx.x / COLUMNS;
  uint64_t tiles = (width + COLUMNS - 1) / COLUMNS, jobs = (count + LONG - 1) / LONG * tiles;
  for (uint64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    uint64_t place = job / tiles, column = (job - place * tiles) * COLUMNS + across;
    place *= LONG;
    uint64_t row = Keys{indices, rows}.of(sorted[place]);
    if (row == rows) continue;
    uint64_t start = starts[row], end = starts[row + 1];
    // A short one, or one in which there was such a place before.
    if (end - start <= LONG || start + LONG <= place) continue;
    float sum = 0.0f;
    for (uint64_t base = start; base < end; base += STAGE) {
      uint32_t some = end - base < STAGE ? (uint32_t)(end - base) : STAGE;
#pragma unroll 1
      for (uint32_t k = 0; k < some; k += LINES * GROUP) {
        // Under way together: the last one again where there are no more, which nobody adds up.
        uint64_t at[GROUP];
        uint32_t code[GROUP];
#pragma unroll
        for (uint32_t j = 0; j < GROUP; j++) {
          at[j] = sorted[base + min(k + j * LINES + line, some - 1)] * width + min(column, width - 1);
        }
        if (dtype == F32) {
#pragma unroll
          for (uint32_t j = 0; j < GROUP; j++) code[j] = ((const uint32_t*)grad)[at[j]];
        } else {
#pragma unroll
          for (uint32_t j = 0; j < GROUP; j++) code[j] = ((const uint16_t*)grad)[at[j]];
        }
#pragma unroll
        for (uint32_t j = 0; j < GROUP; j++) staged[k + j * LINES + line][across] = of_code(dtype, code[j]);
      }
      __syncthreads();
      if (line == 0) {
#pragma unroll 8
        for (uint32_t k = 0; k < some; k++) sum = __fadd_rn(sum, staged[k][across]);
      }
      // Before the next ones are brought in.
      __syncthreads();
    }
    if (line == 0 && column < width) store_one(result, dtype, row * width + column, sum);
  }
}
// sass: embedding loads 1 stores 1 scalar 1 slots 109; the index of the row, of 8 bytes
// sass: embedding_backward_count scalar 8 slots 31; counts of a digit each
// sass: embedding_backward_move scalar 1 slots 46; tokens go one by one to their places
// sass: embedding_backward_starts scalar 1 slots 11; one place a row
// sass: embedding_backward loads 1 scalar 1 slots 51; the place of a token, of 8 bytes
// sass: embedding_backward_long scalar 16 slots 125; partial sums of one column each
