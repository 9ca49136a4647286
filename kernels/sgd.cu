// One step of stochastic gradient descent on a set of parameters: momentum, dampening, Nesterov, weight decay.
//
// Oracle: `cases/sgd.rs`; agreement: bits.
//
// `sgd`: a block of 256 for each chunk of the rows, after `prepare` has put each row's constants in place. Does nothing
// where `found` is raised. `from` is the number of the first block's chunk: 0 but in tests of far indices. Where `counts` is
// not 0, `prepare` has set the `LostCount` of each slot to 0, and the updates that the step loses are added to it.
//
// The arithmetic of an element is that of `step/sgd.rs`, in whose `mul_add` alone products and sums share a rounding. Counts are of
// integers, added up by block and then by atomics, so that they are the same in any order.
#include "lib/fused.cuh"

__device__ __forceinline__ void element(const SgdConstants& c, float gradient, float& parameter, float& momentum) {
  if (c.weight_decay != 0.0f) gradient = __fmaf_rn(parameter, c.weight_decay, gradient);
  if (c.momentum != 0.0f) {
    momentum = c.first != 0.0f ? gradient : __fmaf_rn(gradient, c.undamped, __fmul_rn(momentum, c.momentum));
    gradient = c.nesterov != 0.0f ? __fmaf_rn(momentum, c.momentum, gradient) : momentum;
  }
  parameter = __fmaf_rn(gradient, c.negative_lr, parameter);
}

extern "C" __global__ void __launch_bounds__(THREADS) sgd(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts) {
  step_chunk<1>(rows, row_count, from, chunk_len, constants, found, owed, counts,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[1]) {
        element(c.sgd, gradient, parameter, moments[0]);
      },
      [](const Constants& c, float gradient, float before, float momentum) {
        return has_update(c.sgd, gradient, before, momentum);
      });
}
