// A tensor of one value, in any of bf16, f16, f32, e4m3, e5m2.
//
// Oracle: `cases/cast/oracle.rs`, of the value; agreement: bits, any NaN for any NaN.
//
// `fill`: a grid of any size, of at least 16 threads, strides over pieces of 16 bytes.
//
// Each element is rounded by itself, to the same bits.
#include "lib/fill.cuh"

extern "C" __global__ void __launch_bounds__(256) fill(void* to, DType dtype, uint64_t len, float value) {
  fill_with(to, dtype, len, value);
}
// sass: fill stores 1 slots 11
