// A tensor of one value, in any of bf16, f16, f32, e4m3, e5m2.
//
// Oracle: `oracle/cast.rs`, of the value; agreement: bits, any NaN for any NaN.
//
// `fill`: a grid of any size strides over groups of eight elements.
//
// Each element is rounded by itself, to the same bits.
#include "lib/grid.cuh"

extern "C" __global__ void __launch_bounds__(256) fill(void* to, DType dtype, uint64_t len, float value) {
  uint32_t one = code_of<EIGHT_TOO>(dtype, value), code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = one;
  each_group_of(len, [&](uint64_t i, uint32_t count) { put_group<EIGHT_TOO>(to, dtype, i, count, code); });
}
