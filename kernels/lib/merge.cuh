// Joins what two passes found, as `binade_grad_scaler::join_findings`; `all` asks for an overflow in both.
#pragma once
#include "state.cuh"

__device__ __forceinline__ Found join_findings(Found joined, const Found& other, uint32_t all) {
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
  return joined;
}
