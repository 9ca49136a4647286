// The mean over the rows of -log_softmax(logits)[label], an f32 scalar, and the gradient of the logits.
//
// Oracle: `oracle/cross_entropy.rs`; agreement: bound: exponentials and the logarithm are f32, by `math.cuh`; sums are f64, in
// an order that follows from the shape alone, rounded once.
//
// `cross_entropy`: a grid of any size of blocks of 256, whose teams stride over the rows and leave a loss each in `losses`;
// the block that is done last joins them. `done` is a counter that is 0 before and after. `cross_entropy_backward`: the same
// grid, without a counter.
//
// A row whose label is no class is NaN, and nothing beyond the row is read; the loss of no rows is 0 / 0, which is NaN.
#include "lib/softmax.cuh"
#include "lib/total.cuh"

constexpr uint32_t A_NAN = 0x7fc00000u;

// Negative labels are large ones.
__device__ __forceinline__ bool is_class(uint64_t label, uint64_t classes) { return label < classes; }

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy(
    const void* logits, DType dtype, const uint64_t* labels, uint64_t rows, uint64_t classes, double* losses,
    uint32_t* done, float* to) {
  Team team(classes);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * classes, label = labels[row];
    Normaliser own = normaliser(team, logits, dtype, start, classes);
    if (team.rank != 0) continue;
    double loss = (double)__uint_as_float(A_NAN);
    if (is_class(label, classes)) {
      loss = __dsub_rn(own.log(), (double)__fsub_rn(load_one(logits, dtype, start + label), own.max));
    }
    losses[row] = loss;
  }
  // What each team has left is seen by whoever sees the count of blocks.
  __threadfence();
  __syncthreads();
  join_last(losses, rows, done, [&](double all) { *to = __double2float_rn(__ddiv_rn(all, (double)rows)); });
}

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_backward(
    const float* grad, const void* logits, DType dtype, const uint64_t* labels, uint64_t rows, uint64_t classes,
    void* to) {
  float factor = __double2float_rn(__ddiv_rn((double)*grad, (double)rows));
  Team team(classes);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * classes, label = labels[row];
    Normaliser own = normaliser(team, logits, dtype, start, classes);
    float share = is_class(label, classes) ? own.factor() : __uint_as_float(A_NAN);
    team.each(classes, [&](uint64_t i, uint32_t count) {
      float x[GROUP];
      load_eight(logits, dtype, start + i, count, x);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        float p = __fmul_rn(own.exp(x[k]), share);
        x[k] = __fmul_rn(i + k == label ? __fsub_rn(p, 1.0f) : p, factor);
      }
      store_eight(to, dtype, start + i, count, x);
    });
  }
}
