// Joins what two passes found.
//
// Oracle: `binade_grad_scaler::join_findings`; agreement: bits.
//
// `merge`: one thread. It may read and write the same finding; `all` asks for an overflow in both.
//
// Nothing departs from the oracle.
#include "lib/merge.cuh"

extern "C" __global__ void merge(const Found* before, Found* into, const Found* from, uint32_t all) {
  *into = join_findings(*before, *from, all);
}
