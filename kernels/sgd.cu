// One step of stochastic gradient descent on a set of parameters: momentum, dampening, Nesterov, weight decay.
//
// Oracle: `cases/sgd.rs`; agreement: bits.
//
// `sgd`: a block of 256 for each chunk of the rows, after `prepare` has put each row's constants in place. Does nothing
// where `found` is raised. `from` is the number of the first block's chunk: 0 but in tests of far indices.
//
// The arithmetic of an element is in `lib/sgd.cuh`, for `counted.cu` too.
#include "lib/sgd.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sgd(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed) {
  step_chunk<1>(rows, row_count, from, chunk_len, constants, found, owed,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[1]) {
        element(c.sgd, gradient, parameter, moments[0]);
      });
}
