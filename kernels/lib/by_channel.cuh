// Values by channel, such as a bias, for the spread groups of a tensor [outer, channels, inner].
#pragma once
#include "compact.cuh"
#include "grid.cuh"

// Distance of a number of elements: the channels passed, less whole turns of them, and the elements beyond the last whole run of `inner`.
struct Onward {
  uint64_t channels, rest;

  __device__ __forceinline__ Onward(uint64_t elements, uint64_t all, uint64_t inner) {
    uint64_t runs = elements / inner;
    channels = runs % all, rest = elements - runs * inner;
  }
};

// The channels of four neighbouring elements, the first at a multiple of four.
struct FourChannels {
  uint64_t channels, inner, channel, within;

  __device__ __forceinline__ FourChannels(uint64_t i, uint64_t channels, uint64_t inner) : channels(channels), inner(inner) {
    uint64_t run = i / inner;
    channel = run % channels, within = i - run * inner;
  }

  // Moves on without a division.
  __device__ __forceinline__ void move(const Onward& on) {
    within += on.rest, channel += on.channels;
    if (within >= inner) within -= inner, channel++;
    if (channel >= channels) channel -= channels;
  }

  // The values of `from` at each element's channel, as x[FIRST] on: one for all, four side by side, or one after the other.
  template <uint32_t FIRST>
  __device__ __forceinline__ void load(const void* from, DType dtype, float (&x)[GROUP]) const {
    if (inner % 4 == 0) {
      x[FIRST] = x[FIRST + 1] = x[FIRST + 2] = x[FIRST + 3] = load_one(from, dtype, channel);
    } else if (inner == 1 && channels % 4 == 0) {
      load_four<FIRST>(from, dtype, channel, x);
    } else {
      uint64_t at = channel, rest = inner - within;
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) {
        x[FIRST + k] = load_one(from, dtype, at);
        if (--rest != 0) continue;
        rest = inner;
        if (++at == channels) at = 0;
      }
    }
  }
};

// The channels of a spread group.
struct ByChannel {
  FourChannels low, high;

  __device__ __forceinline__ void load(const void* from, DType dtype, float (&x)[GROUP]) const {
    low.load<0>(from, dtype, x);
    high.load<4>(from, dtype, x);
  }
};

// Calls `work(index, count, by_channel)` for this thread's groups of `len` elements, which are whole runs of `inner`.
template <class Work>
__device__ __forceinline__ void each_group_by_channel(uint64_t len, uint64_t channels, uint64_t inner, Work work) {
  if (len == 0) return;
  Onward on(SPREAD, channels, inner);
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    // Twice, which ptxas computes once: as a copy it takes more instructions on 8.6.
    ByChannel by = {FourChannels(i, channels, inner), FourChannels(i, channels, inner)};
    by.high.move(on);
    work(i, count, by);
  });
}
