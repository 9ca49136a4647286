// The steps of `sgd` and `adam`, and how many updates they lost: those that were not zero and left their weight as it was.
//
// Oracle: `cases/sgd.rs`, `cases/adam.rs`, and `LostUpdates` of `binade-master-weights`; agreement: bits.
//
// `sgd_counted`, `adam_counted`: as `sgd` and `adam`, to whose parameters `counts` is added, a `LostCount` for each slot, which
// `prepare` has set to 0. They are modules apart from those that count nothing, which therefore pay nothing for it.
//
// Counts are of integers, added up by block and then by atomics, so that they are the same in any order.
#include "lib/adam.cuh"
#include "lib/lost.cuh"
#include "lib/sgd.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) sgd_counted(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts) {
  auto updates = [](const Constants& c, float gradient, float before, float momentum) {
    return has_update(c.sgd, gradient, before, momentum);
  };
  step_chunk<1>(rows, row_count, from, chunk_len, constants, found, owed,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[1]) {
        element(c.sgd, gradient, parameter, moments[0]);
      },
      Lost(counts, owed, updates));
}

extern "C" __global__ void __launch_bounds__(THREADS) adam_counted(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts) {
  auto updates = [](const Constants& c, float, float before, float mean) { return has_update(c.adam, before, mean); };
  step_chunk<3>(rows, row_count, from, chunk_len, constants, found, owed,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[3]) {
        element(c.adam, gradient, parameter, moments[0], moments[1], moments[2]);
      },
      Lost(counts, owed, updates));
}
