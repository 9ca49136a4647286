// The sums of products whose K was cut into ranges: those of all ranges added up in order, then the bias, perhaps the rectified
// linear unit, one rounding, and C.
//
// Oracle: `cases/matmul.rs`; agreement: bits, any NaN for any NaN, given what the ranges left: f32 sums, one range after the other.
//
// `matmul_join`: a grid of any size of blocks of 256 strides over groups of eight elements of a row of C. `sums` has a matrix of
// `m` rows for each range, matrix by matrix, whose rows are whole groups.
//
// Nothing is added atomically, so that every run has the same bits.
#include "lib/product.cuh"

// Sums of a group of eight, one range after the other.
__device__ __forceinline__ void sum_whole(const float* from, uint64_t range, uint32_t ranges, float (&x)[GROUP]) {
  load_whole(from, x);
#pragma unroll 4
  for (uint32_t i = 1; i < ranges; i++) {
    float more[GROUP];
    load_whole(from + i * range, more);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = __fadd_rn(x[k], more[k]);
  }
}

// Those of the first `count`, which is less than eight: what is beyond C was never written.
__device__ __forceinline__ void sum_some(
    const float* from, uint64_t range, uint32_t ranges, uint32_t count, float (&x)[GROUP]) {
  x[GROUP - 1] = 0.0f;
#pragma unroll
  for (uint32_t k = 0; k < GROUP - 1; k++) {
    x[k] = k < count ? from[k] : 0.0f;
#pragma unroll 1
    for (uint32_t i = 1; k < count && i < ranges; i++) x[k] = __fadd_rn(x[k], from[i * range + k]);
  }
}

extern "C" __global__ void __launch_bounds__(256) matmul_join(const Product p, const float* sums, uint32_t batch) {
  uint64_t across = (p.n - 1) / GROUP + 1, range = p.m * across * GROUP, groups = (uint64_t)batch * p.m * across;
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
#pragma unroll 1
  for (uint64_t group = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; group < groups; group += step) {
    uint64_t line = group / across, matrix = line / p.m, row = line - matrix * p.m;
    uint32_t column = (uint32_t)(group - line * across) * GROUP, count = left_of(p.n, column);
    const float* from = sums + (matrix * p.ranges * range + row * across * GROUP + column);
    float x[GROUP];
    if (count == GROUP) sum_whole(from, range, p.ranges, x);
    else sum_some(from, range, p.ranges, count, x);
    if (p.bias != nullptr) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        if (k < count) x[k] = __fadd_rn(x[k], load(p.bias, p.dtype, column + k));
      }
    }
    if (p.least == 0.0f) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = cut_off(p, x[k]);
    }
    store_group(p.c, p.c_dtype, matrix * p.c_step + row * p.c_row + column, count, x);
  }
}
// sass: matmul_join loads 8 slots 59
