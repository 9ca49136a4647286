// The sum of all elements, an f32 scalar, and its gradient.
//
// Oracle: `cases/sum.rs`; agreement: one unit in the last place: the sum is taken in f64, in an order that follows from the
// number of elements alone, and rounded once. The gradient: bits.
//
// `sum`: a block of 256 for each chunk, at least one; the block that is done last joins what the others left in `partials`,
// one each. `done` is a counter that is 0 before and after. `sum_backward`: a grid of any size, of at least 16
// threads, strides over pieces of 16 bytes.
//
// The plain loop is a tree here; the sum of nothing is 0.
#include "lib/fill.cuh"
#include "lib/total.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sum(
    const void* from, DType dtype, uint64_t len, uint64_t chunk_len, double* partials, uint32_t* done, float* to) {
  total(own_sum(from, dtype, len, chunk_len), partials, done, [&](double all) { *to = __double2float_rn(all); });
}

extern "C" __global__ void __launch_bounds__(256) sum_backward(const float* grad, void* to, DType dtype, uint64_t len) {
  fill_with(to, dtype, len, *grad);
}
// sass: sum loads 1 slots 55
// sass: sum loads 2 read 2 slots 40
// sass: sum_backward stores 1 slots 11
