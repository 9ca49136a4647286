// The threads of a block, and the elements that they move side by side.
#pragma once
#include <cstdint>

constexpr uint32_t THREADS = 256;

// Groups that a block's threads move in accesses next to each other: the runs of four of all threads, then those behind them. A store of a
// warp then writes whole sectors of memory, whatever the type.
constexpr uint32_t SPREAD = THREADS * 4;
