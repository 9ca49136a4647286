// Pairs of elements of each line rotated by angles of the line's position, and the gradient likewise, with negative sines.
//
// Oracle: `cases/rotary_embedding.rs`; agreement: bound: two products and a sum in f32, each rounded.
//
// `rotary_embedding`: a grid of any size of blocks of 256 strides over groups of eight pairs, fewer than 2^31.
//
// Pairs lie half a line apart, so that a group is two runs of eight neighbours.
#include "lib/block.cuh"
#include "lib/divide.cuh"
#include "lib/elements.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rotary_embedding(
    const void* input, const float* cos, const float* sin, void* to, DType dtype, const Divisor by_groups,
    const Divisor by_rows, uint32_t groups, uint32_t half, float sign) {
#pragma unroll 1
  for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < groups; i += gridDim.x * THREADS) {
    Divided at = divide(i, by_groups);
    uint32_t column = at.rest * GROUP, count = half - column < GROUP ? half - column : GROUP;
    uint64_t first = (uint64_t)at.quotient * 2 * half + column;
    uint64_t angle = (uint64_t)divide(at.quotient, by_rows).rest * half + column;
    float x[GROUP], y[GROUP], c[GROUP], s[GROUP];
    load_group(input, dtype, first, count, x);
    load_group(input, dtype, first + half, count, y);
    load_group(cos, F32, angle, count, c);
    load_group(sin, F32, angle, count, s);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float own = x[k], other = y[k], sine = __fmul_rn(s[k], sign);
      x[k] = __fsub_rn(__fmul_rn(own, c[k]), __fmul_rn(other, sine));
      y[k] = __fadd_rn(__fmul_rn(other, c[k]), __fmul_rn(own, sine));
    }
    store_group(to, dtype, first, count, x);
    store_group(to, dtype, first + half, count, y);
  }
}
// sass: rotary_embedding loads 8 stores 4 slots 169
