// A tensor times the scale, or times its inverse, in f32: a loss on its way up, a lone gradient on its way down.
//
// Oracle: `Cpu::scale`; agreement: bits.
//
// `scale`: a grid of any size strides over groups of eight elements. `factor` points at the one of the two that is meant.
//
// One multiplication each; nothing departs from the plain loop.
#include "lib/grid.cuh"

extern "C" __global__ void __launch_bounds__(256) scale(
    const void* from, DType dtype, float* to, uint64_t len, const float* factor) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_group<EIGHT_TOO>(from, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(x[k], *factor);
    store_group(to, F32, i, count, x);
  });
}
// sass: scale loads 2 stores 2 read 2 written 2 slots 44
