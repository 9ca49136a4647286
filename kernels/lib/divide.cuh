// Division by a number that the host knows, as a multiplication and a shift.
//
// T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1. What is divided
// is below 2^31, so that the sum stays within 32 bits.
#pragma once
#include <cstdint>

// `DivisorBits` of `structs.rs`.
struct Divisor {
  uint32_t by, multiplier, shift;
};

struct Divided {
  uint32_t quotient, rest;
};

__device__ __forceinline__ Divided divide(uint32_t value, const Divisor& divisor) {
  uint32_t quotient = (__umulhi(value, divisor.multiplier) + value) >> divisor.shift;
  return {quotient, value - quotient * divisor.by};
}
