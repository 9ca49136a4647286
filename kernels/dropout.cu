// Zeroes elements by the random words of a key and multiplies the rest; the gradient likewise, by the same kernel.
//
// Oracle: `cases/dropout.rs`; agreement: bits, any NaN for any NaN.
//
// `dropout`: a grid of any size of blocks of 256 strides over spread groups of eight elements. `key` is seed and counter, read on the device.
//
// A group takes two blocks of four random words; element i's word is the one it has on every device.
#include "lib/philox.cuh"
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) dropout(
    const void* input, const uint64_t* key, void* output, DType dtype, uint64_t len, uint64_t threshold, float factor) {
  uint64_t seed = key[0], counter = key[1];
  // The complement keeps off the words that round parameters, which are numbered from 0.
  uint32_t step = (uint32_t)counter, parameter = ~(uint32_t)(counter >> 32);
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_some(input, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k += 4) {
      uint4 words = words_of(seed, step, parameter, (i + offset_in<SPREAD>(k)) / 4);
      uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) x[k + j] = word[j] < threshold ? 0.0f : __fmul_rn(x[k + j], factor);
    }
    store_some(output, dtype, i, count, x);
  });
}
// sass: dropout loads 2 stores 2 slots 238
