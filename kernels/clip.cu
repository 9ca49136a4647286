// The factor that clips a set of gradients by its norm, and the norm in the verdict.
//
// Oracles: `binade_grad_scaler::{record_norm, clip_factor}`; agreement: bits, given the sum of squares.
//
// `clip`: one thread. It may read and write the same `found` and `owed`.
//
// A norm that is not finite as f32 raises the verdict, and counts no element.
#include "lib/state.cuh"

enum Norm : uint32_t { L2 = 0, INFINITY_NORM = 1 };

__device__ __forceinline__ bool is_finite(float value) {
  return (__float_as_uint(value) & 0x7fffffffu) < 0x7f800000u;
}

extern "C" __global__ void clip(
    const Found* found_before, Found* found, const Owed* owed_before, Owed* owed, Norm which, float max) {
  Found verdict = *found_before;
  Owed factors = *owed_before;
  double norm = which == L2 ? __dsqrt_rn(factors.squares) : (double)factors.largest;
  verdict.has_norm = 1;
  verdict.norm = __double2float_rn(norm);
  if (!is_finite(verdict.norm) && verdict.raised == 0) {
    verdict.raised = 1;
    verdict.parameter = THE_NORM;
    verdict.index = 0;
    verdict.scaled = verdict.unscaled = verdict.norm;
  }
  factors.clip = norm > (double)max ? __double2float_rn(__ddiv_rn((double)max, norm)) : 1.0f;
  *found = verdict;
  *owed = factors;
}
