// A tensor times the scale, or times its inverse, in f32: a loss on its way up, a lone gradient on its way down.
//
// Oracle: `Cpu::scale`; agreement: bits.
//
// `scale`: a grid of any size of blocks of 256 strides over spread groups of eight elements. `factor` points at the one of the two that is meant.
//
// One multiplication each; nothing departs from the plain loop.
#include "lib/grid.cuh"

extern "C" __global__ void __launch_bounds__(256) scale(
    const void* from, DType dtype, float* to, uint64_t len, const float* factor) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_group<EIGHT_TOO, SPREAD>(from, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(x[k], *factor);
    store_group<SIXTEEN_AND_32, SPREAD>(to, F32, i, count, x);
  });
}
// sass: scale loads 2 stores 2 slots 46
