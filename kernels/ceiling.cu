// What a GPU does at best, to hold the other kernels' speed against: a launch, a read, a rewrite.
//
// Oracle: none, since nothing is computed; agreement: bits.
//
// `nothing`: any grid. `read_only`, `in_place`: each block takes 1,024 words of 16 bytes, and the grid covers exactly
// `from` or `words`. With a `key` of 0 `in_place` leaves the bits as they are.
//
// A read must have a use, or the compiler drops it: what it read is written where it equals a key that nobody expects.
#include <stdint.h>

constexpr uint32_t THREADS = 256, EACH = 4;

static __device__ __forceinline__ uint64_t first_word() {
  return (uint64_t)blockIdx.x * (THREADS * EACH) + threadIdx.x;
}

static __device__ __forceinline__ uint32_t folded(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }

extern "C" __global__ void nothing() {}

extern "C" __global__ void __launch_bounds__(256) read_only(const uint4* from, uint32_t* to, uint32_t key) {
  from += first_word();
  uint4 words[EACH];
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) words[i] = from[i * THREADS];
  uint32_t all = 0;
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) all ^= folded(words[i]);
  if (all == key) *to = all;
}

extern "C" __global__ void __launch_bounds__(256) in_place(uint4* words, uint32_t key) {
  words += first_word();
  uint4 held[EACH];
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) held[i] = words[i * THREADS];
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) {
    uint4 word = held[i];
    words[i * THREADS] = make_uint4(word.x ^ key, word.y ^ key, word.z ^ key, word.w ^ key);
  }
}
// sass: read_only loads 4 slots 24
// sass: in_place loads 4 stores 4 slots 35
