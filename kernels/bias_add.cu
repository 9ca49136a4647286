// A vector added along the channel axis, and its gradient, the sum over each channel. The tensor is [outer, channels, inner].
//
// Oracle: `cases/bias_add.rs`; agreement: forward bits, any NaN for any NaN; backward the bound of a sum in f64, which is
// rounded to f32 once.
//
// `bias_add`: a grid of any size of blocks of 256 strides over spread groups of eight elements. `bias_add_backward`: a block for each of `parts` parts
// of the samples of a tile, which is 32 channels where `inner` is 1 and one channel otherwise; it leaves a sum for each part and
// channel. `bias_add_finish`: a warp for each channel adds the parts up.
//
// Parts are of 16384 elements, whatever the GPU, and threads' sums are added up pairwise: the bits follow from the shape.
#include "lib/by_channel.cuh"

extern "C" __global__ void __launch_bounds__(256) bias_add(
    const void* input, const void* bias, void* output, DType dtype, uint64_t len, uint64_t channels, uint64_t inner) {
  each_group_by_channel(len, channels, inner, [&](uint64_t i, uint32_t count, const ByChannel& by) {
    float x[GROUP], y[GROUP];
    load_eight(input, dtype, i, count, x, SPREAD);
    by.load(bias, dtype, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = __fadd_rn(x[k], y[k]);
    store_eight(output, dtype, i, count, x, SPREAD);
  });
}

constexpr uint32_t PART = 16384;

extern "C" __global__ void __launch_bounds__(THREADS) bias_add_backward(
    const void* grad, double* sums, DType dtype, uint64_t outer, uint64_t channels, uint64_t inner, uint64_t parts) {
  __shared__ double partial[THREADS];
  uint32_t thread = threadIdx.x, across = inner == 1 ? 32 : 1, samples_of_part = PART / across;
  uint64_t tiles = inner == 1 ? (channels + 31) / 32 : channels, samples = outer * inner;
  // What a thread strides over, as runs of `inner` samples and a rest, so that samples are not divided one by one.
  uint64_t length = inner > 0 ? inner : 1, step = THREADS / across, step_runs = step / length;
  uint64_t step_rest = step - step_runs * length;
  for (uint64_t block = blockIdx.x; block < tiles * parts; block += gridDim.x) {
    uint64_t part = block / tiles, channel = (block - part * tiles) * across + thread % across;
    uint64_t end = (part + 1) * samples_of_part < samples ? (part + 1) * samples_of_part : samples;
    double sum = 0.0;
    uint64_t first = part * samples_of_part + thread / across, run = first / length, within = first - run * length;
#pragma unroll 4
    for (uint64_t s = first; s < end && channel < channels; s += step) {
      sum = __dadd_rn(sum, (double)load(grad, dtype, (run * channels + channel) * inner + within));
      run += step_runs, within += step_rest;
      if (within >= inner) within -= inner, run++;
    }
    partial[thread] = sum;
    for (uint32_t distance = THREADS / 2; distance >= across; distance /= 2) {
      __syncthreads();
      if (thread < distance) partial[thread] = __dadd_rn(partial[thread], partial[thread + distance]);
    }
    if (thread < across && channel < channels) sums[part * channels + channel] = partial[thread];
    // Before the next ones are written.
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    bias_add_finish(const double* sums, void* result, DType dtype, uint64_t channels, uint64_t parts) {
  uint32_t lane = threadIdx.x % 32;
  uint64_t first = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 32, step = (uint64_t)gridDim.x * (THREADS / 32);
  for (uint64_t channel = first; channel < channels; channel += step) {
    double sum = 0.0;
    for (uint64_t part = lane; part < parts; part += 32) sum = __dadd_rn(sum, sums[part * channels + channel]);
    for (uint32_t distance = 16; distance > 0; distance /= 2) {
      sum = __dadd_rn(sum, __shfl_down_sync(0xffffffffu, sum, distance));
    }
    if (lane == 0) {
      put<SIXTEEN_AND_32>(result, dtype, channel, code_of<SIXTEEN_AND_32>(dtype, __double2float_rn(sum)));
    }
  }
}
// sass: bias_add loads 4 stores 2 slots 226
// sass: bias_add_backward scalar 4 slots 121; rows that begin anywhere: a column a thread
// sass: bias_add_finish scalar 4 slots 23; partial sums of one column each, in f64
