// The mean of all elements, an f32 scalar, and its gradient.
//
// Oracle: `cases/mean.rs`; agreement: one unit in the last place: the sum is taken in f64, in an order that follows from the
// number of elements alone, divided there, and rounded once. The gradient: bits.
//
// `mean`: a block of 256 for each chunk, at least one; the block that is done last joins what the others left in `partials`,
// one each. `done` is a counter that is 0 before and after. `mean_backward`: a grid of any size, of at least 16
// threads, strides over pieces of 16 bytes.
//
// The plain loop is a tree here; the mean of nothing is 0 / 0, which is NaN.
#include "lib/fill.cuh"
#include "lib/total.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) mean(
    const void* from, DType dtype, uint64_t len, uint64_t chunk_len, double* partials, uint32_t* done, float* to) {
  total(own_sum(from, dtype, len, chunk_len), partials, done, [&](double all) {
    *to = __double2float_rn(__ddiv_rn(all, (double)len));
  });
}

extern "C" __global__ void __launch_bounds__(256) mean_backward(const float* grad, void* to, DType dtype, uint64_t len) {
  fill_with(to, dtype, len, __double2float_rn(__ddiv_rn((double)*grad, (double)len)));
}
// sass: mean loads 1 slots 55
// sass: mean loads 2 read 2 slots 40
// sass: mean_backward stores 1 slots 11
