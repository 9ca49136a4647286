// The mean over the rows of -log_softmax(logits)[label], an f32 scalar, and the gradient of the logits.
//
// Oracle: `cases/cross_entropy.rs`; agreement: bound: exponentials and the logarithm are f32, by `math.cuh`; sums are f64, in
// an order that follows from the shape alone, rounded once.
//
// `cross_entropy`: a grid of any size of blocks of 256 strides over chunks of `chunk_rows` rows, whose teams leave a sum for each
// in `partials`; the block that is done last joins them. `done` is a counter that is 0 before and after. `cross_entropy_backward`:
// a grid of any size of blocks of 256, whose teams stride over the rows, without a counter.
//
// A row is read once, and backward each exponential computed once, up to 8192 classes; those beyond are read twice, backward three
// times. The host makes 4096 chunks at most, from the shape alone: what one block adds up at the end is 32 kB, whatever the batch.
//
// A row whose label is no class is NaN and left in `fault`, and nothing beyond the row is read; the loss of no rows is 0 / 0, which is NaN.
#include "lib/fault.cuh"
#include "lib/softmax.cuh"
#include "lib/total.cuh"

constexpr uint32_t A_NAN = 0x7fc00000u;

// What labels that are no class are noted in. Negative ones are large ones.
struct Labels {
  const int64_t* of_row;
  uint64_t classes;
  Fault* fault;
  uint32_t launch;

  __device__ __forceinline__ bool is_class(const Team& team, uint64_t row) const {
    bool is = (uint64_t)of_row[row] < classes;
    if (!is && team.rank == 0) leave_fault(fault, CROSS_ENTROPY, launch, of_row, row, classes);
    return is;
  }
};

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy(
    const void* logits, DType dtype, const int64_t* labels, uint64_t rows, uint64_t classes, uint64_t chunk_rows,
    double* partials, uint32_t* done, float* to, Fault* fault, uint32_t launch) {
  Labels all = {labels, classes, fault, launch};
  Team team(classes);
  uint64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
#pragma unroll 1
  for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    double sum = 0.0;
    uint64_t end = min((chunk + 1) * chunk_rows, rows);
    for (uint64_t row = chunk * chunk_rows + team.line; row < end; row += team.lines) {
      uint64_t start = row * classes, label = (uint64_t)labels[row];
      Row kept = {logits, dtype, start, classes, nothing()};
      Normaliser own = normaliser<ELEMENTS>(team, kept);
      bool is_class = all.is_class(team, row);
      if (team.rank != 0) continue;
      double loss = (double)__uint_as_float(A_NAN);
      if (is_class) {
        loss = __dsub_rn(own.log(), (double)__fsub_rn(load_one(logits, dtype, start + label), own.max));
      }
      sum = __dadd_rn(sum, loss);
    }
    sum = reduce<Sum>(sum);
    if (threadIdx.x == 0) partials[chunk] = sum;
  }
  join_last(partials, chunks, done, [&](double sum) { *to = __double2float_rn(__ddiv_rn(sum, (double)rows)); });
}

extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_backward(
    const float* grad, const void* logits, DType dtype, const int64_t* labels, uint64_t rows, uint64_t classes,
    void* to, Fault* fault, uint32_t launch) {
  Labels all = {labels, classes, fault, launch};
  float factor = __double2float_rn(__ddiv_rn((double)*grad, (double)rows));
  Team team(classes);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * classes, label = (uint64_t)labels[row];
    Row kept = {logits, dtype, start, classes, nothing()};
    Normaliser own = normaliser<EXPONENTIALS>(team, kept);
    float share = all.is_class(team, row) ? own.factor() : __uint_as_float(A_NAN);
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool is_held, float (&x)[GROUP]) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        float p = __fmul_rn(is_held ? x[k] : own.exp(x[k]), share);
        x[k] = __fmul_rn(i + offset_in(k, team.apart()) == label ? __fsub_rn(p, 1.0f) : p, factor);
      }
      store_eight(to, dtype, start + i, count, x, team.apart());
    });
  }
}
// sass: cross_entropy loads 2 slots 282
// sass: cross_entropy_backward loads 2 slots 287
// sass: cross_entropy_backward loads 2 stores 2 slots 204
