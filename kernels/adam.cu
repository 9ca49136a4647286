// One step of Adam, AdamW or AMSGrad on a set of parameters.
//
// Oracle: `cases/adam.rs`; agreement: bits.
//
// `adam`: a block of 256 for each chunk of the rows, after `prepare` has put each row's constants in place. Does nothing
// where `found` is raised. `from` is the number of the first block's chunk: 0 but in tests of far indices. Where `counts` is
// not 0, `prepare` has set the `LostCount` of each slot to 0, and the updates that the step loses are added to it.
//
// The arithmetic of an element is that of `step/adam.rs`, in whose `mul_add` alone products and sums share a rounding. Counts are of
// integers, added up by block and then by atomics, so that they are the same in any order.
#include "lib/fused.cuh"

// torch's `lerp`: from whichever end is nearer.
__device__ __forceinline__ float lerp(float from, float to, float weight) {
  float way = __fsub_rn(to, from);
  return weight < 0.5f ? __fmaf_rn(weight, way, from) : __fmaf_rn(-way, __fsub_rn(1.0f, weight), to);
}

// torch's `maximum`: NaN if either is.
__device__ __forceinline__ float maximum(float a, float b) {
  return b > a || b != b ? b : a;
}

__device__ __forceinline__ void element(
    const AdamConstants& c, float gradient, float& parameter, float& mean, float& square, float& largest) {
  parameter = __fmul_rn(parameter, c.shrink);
  if (c.weight_decay != 0.0f) gradient = __fmaf_rn(parameter, c.weight_decay, gradient);
  mean = lerp(mean, gradient, c.mean_weight);
  square = __fmaf_rn(__fmul_rn(c.square_weight, gradient), gradient, __fmul_rn(square, c.beta2));
  if (c.amsgrad != 0.0f) largest = maximum(largest, square);
  float root = __fsqrt_rn(c.amsgrad != 0.0f ? largest : square);
  float denominator = __fadd_rn(__fdiv_rn(root, c.root_correction), c.eps);
  parameter = __fadd_rn(parameter, __fdiv_rn(__fmul_rn(c.negative_step, mean), denominator));
}

extern "C" __global__ void __launch_bounds__(THREADS) adam(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts) {
  step_chunk<3>(rows, row_count, from, chunk_len, constants, found, owed, counts,
      [](const Constants& c, float gradient, float& parameter, float (&moments)[3]) {
        element(c.adam, gradient, parameter, moments[0], moments[1], moments[2]);
      },
      [](const Constants& c, float, float before, float mean) { return has_update(c.adam, before, mean); });
}
