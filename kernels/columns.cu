// The sum of each column of a row-major matrix of bf16, f16 or f32.
//
// Oracle: `cases/sum.rs`; agreement: bound: sums in f64, in an order that follows from the shape alone, rounded once to
// f32 and from there to the element type.
//
// `columns`: a grid of any size of blocks of 256 strides over tiles of 32 columns of a chunk of `chunk_rows` rows, and leaves
// a sum a column in `partials`, chunk by chunk. `columns_join`: a grid of any size, a column a thread, adds up the chunks.
//
// Many rows of few columns would leave most of a GPU idle if a column were one thread's, hence the chunks.
#include "lib/columns.cuh"

extern "C" __global__ void __launch_bounds__(256) columns(
    const void* values, DType dtype, double* partials, uint64_t rows, uint32_t width, uint64_t chunk_rows,
    uint32_t chunks) {
  uint32_t tiles = (width - 1) / TILE + 1;
#pragma unroll 1
  for (uint32_t job = blockIdx.x; job < tiles * chunks; job += gridDim.x) {
    uint32_t chunk = job / tiles;
    uint64_t column = job % tiles * TILE + threadIdx.x % TILE, start = chunk * chunk_rows;
    uint64_t end = start + chunk_rows < rows ? start + chunk_rows : rows;
    double sum = sum_of_column(column, width, start, end, [&](uint64_t row, uint64_t of) {
      return load(values, dtype, row * width + of);
    });
    if (threadIdx.x < TILE && column < width) partials[(uint64_t)chunk * width + column] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256) columns_join(
    const double* partials, void* to, DType dtype, uint64_t width, uint64_t chunks) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
#pragma unroll 1
  for (uint64_t column = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; column < width; column += step) {
    double sum = 0.0;
#pragma unroll 8
    for (uint64_t chunk = 0; chunk < chunks; chunk++) sum = __dadd_rn(sum, partials[chunk * width + column]);
    float rounded = __double2float_rn(sum);
    put<SIXTEEN_AND_32>(to, dtype, column, code_of<SIXTEEN_AND_32>(dtype, rounded));
  }
}
// sass: columns scalar 4 slots 43; a column a thread, of rows that begin anywhere
// sass: columns_join scalar 8 slots 41; partial sums of one column each, in f64
