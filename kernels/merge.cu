// Joins what two passes found.
//
// Oracle: `binade_grad_scaler::join_findings`; agreement: bits.
//
// `merge`: one thread. It may read and write the same finding; `all` asks for an overflow in both.
//
// Nothing departs from the oracle.
#include "lib/state.cuh"

extern "C" __global__ void merge(const Found* before, Found* into, const Found* from, uint32_t all) {
  Found joined = *before;
  Found other = *from;
  if (joined.raised == 0 && other.raised != 0) {
    joined.parameter = other.parameter;
    joined.index = other.index;
    joined.rank = other.rank;
    joined.scaled = other.scaled;
    joined.unscaled = other.unscaled;
  }
  bool overflowed = all ? joined.raised != 0 && other.raised != 0 : (joined.raised | other.raised) != 0;
  joined.raised = overflowed;
  if (!overflowed) {
    joined.parameter = NOBODY;
    joined.rank = 0;
  }
  joined.halted = (joined.halted | other.halted) != 0;
  joined.infinities += other.infinities;
  joined.nans += other.nans;
  joined.magnitude = other.magnitude > joined.magnitude ? other.magnitude : joined.magnitude;
  *into = joined;
}
