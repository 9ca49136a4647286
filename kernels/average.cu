// Averages the gradients of several ranks, element by element.
//
// Oracle: `binade_ranks`, by the test `peers::an_average_is_that_of_ranks_of_the_cpu`; agreement: bits.
//
// `average`: a grid of any size strides over the elements. `own` holds this rank's; `others` holds those of the other ranks, in their
// order, `stride` elements apart; all are of one type. `place` is this rank's among all.
//
// Summed in f64 in the order of ranks, whichever computes it, divided there and rounded to f32 once: values that are finite
// have an average that is, which a sum in f32 would not promise.
#include "lib/elements.cuh"

extern "C" __global__ void __launch_bounds__(256) average(
    const void* own, const void* others, float* result, DType dtype, uint32_t place, uint32_t devices, uint64_t len,
    uint64_t stride) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    uint64_t other = i;
    double sum = 0;
    uint32_t device = 0;
    // There is one at least.
#pragma unroll 1
    do {
      float x;
      if (device == place) {
        x = load(own, dtype, i);
      } else {
        x = load(others, dtype, other);
        other += stride;
      }
      // Not added to 0, which would take the sign of a zero.
      sum = device == 0 ? (double)x : __dadd_rn(sum, (double)x);
    } while (++device < devices);
    result[i] = __double2float_rn(__ddiv_rn(sum, (double)devices));
  }
}
// sass: average scalar 2 slots 19; an element a thread, of buffers that begin anywhere
