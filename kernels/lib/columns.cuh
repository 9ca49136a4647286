// Sums of columns of a row-major matrix in f64: chunk by chunk of rows, then the chunks in order, so that the sums follow
// from the shape alone.
#pragma once
#include "elements.cuh"

// Columns of a block's tile, and lines of threads that share its rows.
constexpr uint32_t TILE = 32, LINES = 8;

// The sum of column `column` over rows [start, end), for the thread of the first line; all of a block of TILE by LINES
// threads must come. `value(row, column)` is asked for columns that are there alone.
template <class Value>
__device__ __forceinline__ double sum_of_column(
    uint64_t column, uint64_t width, uint64_t start, uint64_t end, Value value) {
  __shared__ double lines[LINES][TILE];
  uint32_t across = threadIdx.x % TILE, line = threadIdx.x / TILE;
  double sum = 0.0;
  if (column < width) {
#pragma unroll 4
    for (uint64_t row = start + line; row < end; row += LINES) sum = __dadd_rn(sum, (double)value(row, column));
  }
  lines[line][across] = sum;
  __syncthreads();
  if (line == 0) {
    for (uint32_t other = 1; other < LINES; other++) sum = __dadd_rn(sum, lines[other][across]);
  }
  // Before the next column's threads write theirs.
  __syncthreads();
  return sum;
}
