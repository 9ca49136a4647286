// Sizes of the gradients of several devices, as one set's.
//
// Oracle: `binade_cpu`'s `clip_norms`; agreement: bits, given the sums of squares.
//
// `join_sizes`: one thread adds up the sizes of `all`, in their order, and writes them to `into`, whose factors stay.
#include "lib/state.cuh"

extern "C" __global__ void join_sizes(const Owed* all, uint32_t count, Owed* into) {
  double squares = 0.0;
  // Bits of NaN are the largest.
  uint32_t largest = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < count; i++) {
    squares = __dadd_rn(squares, all[i].squares);
    uint32_t bits = __float_as_uint(all[i].largest);
    largest = bits > largest ? bits : largest;
  }
  into->squares = squares;
  into->largest = __uint_as_float(largest);
}
