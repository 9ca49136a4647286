// An index or label that points nowhere, left for the host, which reports it when it reads next. One record for all launches
// keeps the first: of the earliest launch, and in it of the lowest position, whatever the order of the threads.
//
// The host's twin is `binade-cuda/src/launch/structs.rs`, and both assert the size.
#pragma once
#include <stdint.h>

// As `faults.rs` numbers those that take indices.
enum Indexed : uint32_t { EMBEDDING = 0, CROSS_ENTROPY = 1 };

struct Fault {
  // The complement of launch and position, so that the earliest is the largest; 0 for none.
  uint64_t order;
  int64_t index;
  uint64_t limit;
  Indexed op;
  // What the launches of the captured step that is being replayed are counted from; the host writes it before each replay.
  uint32_t base;
};
static_assert(sizeof(Fault) == 32, "as on the host");

// Bits of a position, as the host's; above them is the launch's number.
constexpr uint32_t POSITION = 36;

// The bit of a launch that is captured: the others are its place among those of its step, and its number is another one at
// each replay. As the host's.
constexpr uint32_t CAPTURED = 1u << 31;

// Notes that indices[position] is not below `limit`, unless something earlier is noted. `launch` is the same for all threads.
__device__ __forceinline__ void leave_fault(
    Fault* fault, Indexed op, uint32_t launch, const int64_t* indices, uint64_t position, uint64_t limit) {
  uint32_t number = launch & CAPTURED ? fault->base + (launch ^ CAPTURED) : launch;
  uint64_t first = (uint64_t)number << POSITION, mine = ~(first | position);
  unsigned long long before = atomicMax((unsigned long long*)&fault->order, (unsigned long long)mine);
  if (before >= mine) return;
  // Another thread may take the place before this one has written what belongs to it, or after: whoever wrote last writes what
  // belongs to the place as it stands.
  volatile Fault* record = fault;
  uint64_t order;
  do {
    __threadfence();
    order = record->order;
    record->index = indices[~order - first];
    record->limit = limit;
    *(volatile uint32_t*)&record->op = op;
    __threadfence();
  } while (record->order != order);
}
