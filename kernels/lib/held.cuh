// Rows that are read once: each thread of a team keeps its groups of a row in shared memory, where it alone goes. There is room
// for all the rows that warps get, and for 8192 elements of a block's; what is beyond is read again each time.
//
// A block has room for one row a team at a time.
#pragma once
#include "rows.cuh"

// Groups that a thread keeps.
constexpr uint32_t HELD = 4;
static_assert(HELD * 32 * GROUP == WARP_ROW, "a warp keeps its rows whole");

// Of the times a row is gone through: from memory; from what was kept; the same, and nothing is kept any more.
enum Time { FIRST, AGAIN, LAST };

struct Row {
  const void* from;
  DType dtype;
  uint64_t start, width;
  // Stands where a group goes on and the row does not.
  float beyond;

  // Calls `work(index, count, is_held, x)` for this thread's groups. What it makes of `x` is what the next call gets, where
  // `is_held`; else that gets what is in memory.
  template <Time TIME, class Work>
  __device__ __forceinline__ void each(const Team& team, Work work) const {
    // Halves of groups, so that neighbouring threads use neighbouring banks.
    float4(&halves)[2][HELD * THREADS] = room();
    uint32_t slot = threadIdx.x;
#pragma unroll 1
    for (uint64_t i = team.rank * 4; i < width; i += team.size * GROUP, slot += THREADS) {
      bool is_held = slot < HELD * THREADS;
      uint32_t reach = team.apart() + 4, count = width - i < reach ? (uint32_t)(width - i) : reach;
      float x[GROUP];
      if (TIME == FIRST || !is_held) {
        load_eight(from, dtype, start + i, count, x, team.apart());
#pragma unroll
        for (uint32_t k = 0; k < GROUP; k++) x[k] = offset_in(k, team.apart()) < count ? x[k] : beyond;
      } else {
        float4 low = halves[0][slot], high = halves[1][slot];
        x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
        x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
      }
      work(i, count, is_held, x);
      if (TIME == LAST || !is_held) continue;
      halves[0][slot] = make_float4(x[0], x[1], x[2], x[3]);
      halves[1][slot] = make_float4(x[4], x[5], x[6], x[7]);
    }
  }

  __device__ static __forceinline__ auto room() -> float4 (&)[2][HELD * THREADS] {
    __shared__ float4 halves[2][HELD * THREADS];
    return halves;
  }
};
