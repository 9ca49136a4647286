// One step of Adam, AdamW or AMSGrad on a set of parameters.
//
// Oracle: `cases/adam.rs`; agreement: bits.
//
// `adam`: a block of 256 for each chunk of the rows, after `prepare` has put each row's constants in place. Does nothing
// where `found` is raised. `from` is the number of the first block's chunk: 0 but in tests of far indices.
//
// The arithmetic of an element is in `lib/adam.cuh`, for `counted.cu` too.
#include "lib/adam.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) adam(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed) {
  step_chunk<3>(rows, row_count, from, chunk_len, constants, found, owed,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[3]) {
        element(c.adam, gradient, parameter, moments[0], moments[1], moments[2]);
      });
}
