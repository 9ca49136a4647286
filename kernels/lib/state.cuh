// What the device keeps: the scale, what a pass found, what a set of gradients is still owed. The host's twins are in
// `binade-cuda/src/launch/structs.rs`, and both assert the sizes.
#pragma once
#include <stdint.h>

// `binade_grad_scaler::ScaleState`, and the two factors that others read from it.
struct Scale {
  float factor, inverse;
  float significand;
  int32_t exponent, before;
  uint32_t good_steps, bad_steps, diverged;
  uint64_t updates, overflows, skipped;
  uint32_t tolerated, since_move;
  // `binade_grad_scaler::Averages`.
  int64_t mean, slow_mean, square;
  uint32_t taken, slow_taken;
};

constexpr uint32_t NOBODY = 0xffffffffu;
// The parameter that a norm which is not finite goes by.
constexpr uint32_t THE_NORM = 0xfffffffeu;

// `binade_core::Finding` without names. Any positive `raised` skips: two devices' flags may have been added up.
struct Found {
  uint32_t raised, halted;
  uint32_t parameter, has_norm;
  uint64_t index;
  float scaled, unscaled;
  uint64_t infinities, nans;
  float magnitude, norm;
  uint32_t rank, pad;
};

// What unscaling and clipping leave to whoever reads a set's values, and its sizes.
struct Owed {
  float inverse, clip;
  float largest;
  uint32_t pad;
  double squares;
};

static_assert(sizeof(Scale) == 96 && sizeof(Found) == 64 && sizeof(Owed) == 24, "as `structs.rs`");

__device__ __forceinline__ bool is_raised(const Found* found) {
  return (found->raised | found->halted) != 0;
}

// Unscales, then clips: two roundings, as `binade_master_weights::step::Factor`.
__device__ __forceinline__ float settle(float value, float inverse, float clip) {
  return __fmul_rn(__fmul_rn(value, inverse), clip);
}
