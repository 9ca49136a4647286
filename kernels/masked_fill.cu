// One value in the place of elements whose mask is not 0.
//
// Oracle: `cases/masked_fill.rs`; agreement: bits, those of NaN among them.
//
// `masked_fill`: a grid of any size of blocks of 256 strides over spread groups of eight elements, fewer than 2^31.
//
// Elements are moved as codes. The mask serves again and again; its length is known before, so that none is divided by.
#include "lib/divide.cuh"
#include "lib/pointwise.cuh"

// The codes of the mask for `count` elements from i on, four at most.
__device__ __forceinline__ void load_mask(
    const void* mask, DType dtype, uint64_t i, uint32_t count, const Divisor& by_mask, uint32_t (&code)[4]) {
  uint32_t at = divide((uint32_t)i, by_mask).rest;
  if (by_mask.by % 4 == 0) return load_codes(mask, dtype, at, count, code);
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    code[k] = k < count ? code_at(mask, dtype, at) : 0;
    at = at + 1 == by_mask.by ? 0 : at + 1;
  }
}

extern "C" __global__ void __launch_bounds__(256) masked_fill(
    const void* input, const void* mask, void* output, DType dtype, DType mask_dtype, uint64_t len, const Divisor by_mask,
    float value) {
  uint32_t filled = dtype == F32 ? __float_as_uint(value) : to_code(dtype, value);
  uint32_t magnitude = mask_dtype == F32 ? 0x7fffffff : 0x7fff;
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    uint32_t code[GROUP], of_mask[4];
    load_codes(input, dtype, i, count, code);
#pragma unroll
    for (uint32_t run = 0; run < GROUP; run += 4) {
      uint32_t on = offset_in<SPREAD>(run);
      uint32_t left = on < count ? count - on : 0;
      load_mask(mask, mask_dtype, i + on, left < 4 ? left : 4, by_mask, of_mask);
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) code[run + k] = of_mask[k] & magnitude ? filled : code[run + k];
    }
    store_codes(output, dtype, i, count, code);
  });
}
// sass: masked_fill loads 4 stores 2 slots 164
