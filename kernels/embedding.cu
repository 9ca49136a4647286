// Rows of a table, by index, and the gradient of the table.
//
// Oracle: `oracle/embedding.rs`; agreement: bits, any NaN for any NaN where gradients are summed.
//
// `embedding`: a grid of any size strides over groups of eight elements of a row. `embedding_backward`: a grid of any size
// strides over tiles of 32 rows and 256 columns. An index that points nowhere is left in `fault`, its row is NaN, and backward
// passes over it.
//
// Backward sums in f32 and in the order of the indices, as the plain loop does, without atomics: a thread has a column of a
// tile to itself. Each tile reads all indices: rows / 32 * columns / 256 * indices loads of 8 bytes, most of them from cache. An
// index that occurs often is summed by one thread a column, one gradient after the other.
#include "lib/fault.cuh"
#include "lib/pointwise.cuh"

__device__ __forceinline__ uint32_t nan_code(DType dtype) {
  return dtype == F32 ? 0x7fc00000u : dtype == BF16 ? 0x7fc0u : 0x7e00u;
}

extern "C" __global__ void __launch_bounds__(256) embedding(
    const void* table, const int64_t* indices, void* output, DType dtype, uint64_t count, uint64_t rows, uint64_t width,
    Fault* fault, uint32_t launch) {
  // Rows of no elements have a group too, for their index to be looked at.
  uint64_t groups = width == 0 ? 1 : (width + GROUP - 1) / GROUP;
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t task = first; task < count * groups; task += step) {
    uint64_t position = task / groups, column = (task - position * groups) * GROUP;
    uint64_t row = (uint64_t)indices[position];
    uint32_t some = width - column < GROUP ? (uint32_t)(width - column) : GROUP;
    uint32_t code[GROUP];
    if (row < rows) {
      // Unread: codes of NaN keep their bits.
      load_codes(table, dtype, row * width + column, some, code);
    } else {
      if (column == 0) leave_fault(fault, EMBEDDING, launch, indices, position, rows);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) code[k] = nan_code(dtype);
    }
    store_codes(output, dtype, position * width + column, some, code);
  }
}

constexpr uint32_t ROWS = 32, COLUMNS = 256;

extern "C" __global__ void __launch_bounds__(COLUMNS) embedding_backward(
    const void* grad, const int64_t* indices, void* result, DType dtype, uint64_t count, uint64_t rows, uint64_t width,
    Fault* fault, uint32_t launch) {
  __shared__ float sums[ROWS][COLUMNS];
  // Of 256 indices: which point into the tile, and at which of its rows.
  __shared__ uint32_t hits[COLUMNS / 32];
  __shared__ uint8_t targets[COLUMNS];
  uint32_t thread = threadIdx.x;
  uint64_t across = width == 0 ? 1 : (width + COLUMNS - 1) / COLUMNS;
  // Where the table has no rows there is a tile too, for the indices to be looked at.
  uint64_t down = rows == 0 ? 1 : (rows + ROWS - 1) / ROWS;
  for (uint64_t tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
    uint64_t tile_row = tile / across, row = tile_row * ROWS, column = (tile - tile_row * across) * COLUMNS + thread;
#pragma unroll 1
    for (uint32_t k = 0; k < ROWS; k++) sums[k][thread] = 0.0f;
    for (uint64_t base = 0; base < count; base += COLUMNS) {
      uint64_t position = base + thread, index = position < count ? (uint64_t)indices[position] : row + ROWS;
      if (tile == 0 && position < count && index >= rows) leave_fault(fault, EMBEDDING, launch, indices, position, rows);
      uint32_t of_warp = __ballot_sync(0xffffffffu, index < rows && index - row < ROWS);
      if (thread % 32 == 0) hits[thread / 32] = of_warp;
      targets[thread] = (uint8_t)(index - row);
      __syncthreads();
#pragma unroll 1
      for (uint32_t warp = 0; warp < COLUMNS / 32; warp++) {
        for (uint32_t rest = hits[warp]; rest != 0 && column < width; rest &= rest - 1) {
          uint32_t hit = warp * 32 + (uint32_t)__ffs((int)rest) - 1;
          float& sum = sums[targets[hit]][thread];
          sum = __fadd_rn(sum, load(grad, dtype, (base + hit) * width + column));
        }
      }
      // Before the next ones are written.
      __syncthreads();
    }
    for (uint32_t k = 0; k < ROWS && row + k < rows && column < width; k++) {
      uint32_t code = code_of<SIXTEEN_AND_32>(dtype, sums[k][thread]);
      put<SIXTEEN_AND_32>(result, dtype, (row + k) * width + column, code);
    }
  }
}
