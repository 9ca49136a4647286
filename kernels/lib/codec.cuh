// Rounding f32 among the codes of a narrower format, in 32-bit integer arithmetic: line for line
// `binade_core::cast::codec`, which says why it works.
#pragma once
#include <stdint.h>

// Beyond a format's largest: infinity, or NaN where there is none; or the largest itself.
enum OnOverflow : uint32_t { NON_FINITE = 0, SATURATE = 1 };

// A magnitude as number / 2^point.
struct Fixed {
  uint32_t number, point;
};

template <uint32_t SIGNIFICAND_BITS, uint32_t EXPONENT_BITS, bool HAS_INFINITY>
struct Codec {
  static constexpr uint32_t STORED = SIGNIFICAND_BITS - 1;
  static constexpr uint32_t SIGN_BIT = STORED + EXPONENT_BITS;
  static constexpr uint32_t ALL_ONES = (1u << SIGN_BIT) - 1;
  static constexpr uint32_t INFINITE = HAS_INFINITY ? ALL_ONES - ((1u << STORED) - 1) : ALL_ONES;
  static constexpr uint32_t DROPPED = 23 - STORED;
  static constexpr uint32_t FIRST_NORMAL = 129 - (1u << (EXPONENT_BITS - 1));
  static constexpr uint32_t MAX = INFINITE - 1;
  static constexpr uint32_t NAN_CODE = INFINITE | (1u << (STORED - 1));

  static __device__ __forceinline__ Fixed fixed(uint32_t magnitude) {
    uint32_t exponent = magnitude >> 23;
    if (exponent >= FIRST_NORMAL) return {magnitude - ((FIRST_NORMAL - 1) << 23), DROPPED};
    uint32_t significand = (magnitude & 0x7fffffu) | (exponent == 0 ? 0 : 1u << 23);
    uint32_t point = DROPPED + FIRST_NORMAL - (exponent == 0 ? 1 : exponent);
    if (point <= 31) return {significand, point};
    // 31 bits of fraction are kept, so that the sum with a random fraction fits in 32 bits.
    return {point <= 54 ? significand >> (point - 31) : 0, 31};
  }

  static __device__ __forceinline__ uint32_t encode(uint32_t bits, uint32_t code, OnOverflow on_overflow) {
    uint32_t magnitude = code;
    if (code > MAX) magnitude = on_overflow == SATURATE ? MAX : MAX + 1;
    if ((bits & 0x7fffffffu) > 0x7f800000u) magnitude = NAN_CODE;
    return magnitude | (bits >> 31) << SIGN_BIT;
  }

  static __device__ __forceinline__ uint32_t nearest(float value, OnOverflow on_overflow) {
    uint32_t bits = __float_as_uint(value);
    Fixed f = fixed(bits & 0x7fffffffu);
    uint32_t odd = f.number >> f.point & 1;
    return encode(bits, (f.number + ((1u << (f.point - 1)) - 1) + odd) >> f.point, on_overflow);
  }

  static __device__ __forceinline__ uint32_t stochastic(float value, uint32_t random, OnOverflow on_overflow) {
    uint32_t bits = __float_as_uint(value);
    Fixed f = fixed(bits & 0x7fffffffu);
    return encode(bits, (f.number + (random >> (32 - f.point))) >> f.point, on_overflow);
  }

  static __device__ __forceinline__ float decode(uint32_t code) {
    uint32_t sign = code >> SIGN_BIT << 31, magnitude = code & ALL_ONES;
    constexpr uint32_t REBIAS = (FIRST_NORMAL - 1) << 23;
    if (magnitude > MAX) {
      bool infinite = HAS_INFINITY && magnitude == MAX + 1;
      return __uint_as_float(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    if (magnitude >> STORED != 0) return __uint_as_float(sign | ((magnitude << DROPPED) + REBIAS));
    // With a leading one, which a subnormal lacks, it reads too large by exactly the smallest normal.
    float leading = __uint_as_float((magnitude << DROPPED) + REBIAS + (1u << 23));
    float value = __fsub_rn(leading, __uint_as_float(REBIAS + (1u << 23)));
    return __uint_as_float(sign | __float_as_uint(value));
  }
};

using Bf16 = Codec<8, 8, true>;
using F16 = Codec<11, 5, true>;
using E4m3 = Codec<4, 4, false>;
using E5m2 = Codec<3, 5, true>;
