// Planes of images: a channel of an image each.
#pragma once
#include <cstdint>

// Some of the rows or columns of a plane.
struct Span {
  uint64_t start, end;
};

// Where an index is in planes of this many rows and columns.
struct Place {
  uint64_t plane, row, column;
};

__device__ __forceinline__ Place place_of(uint64_t i, const uint64_t (&extents)[2]) {
  uint64_t row = i / extents[1], plane = row / extents[0];
  return {plane, row - plane * extents[0], i - row * extents[1]};
}
