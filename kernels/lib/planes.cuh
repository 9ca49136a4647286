// Planes of images: a channel of an image each. Channels lie one behind the other, or beside each other in every pixel.
#pragma once
#include <cstdint>

// Some of the rows or columns of a plane.
struct Span {
  uint64_t start, end;
};

// Where an index is in planes of this many rows and columns, whose neighbouring elements are `pixel` apart: 1, or the number of
// channels.
struct Place {
  uint64_t image, channel, row, column;

  // Where this plane begins among planes of so many elements.
  __device__ __forceinline__ uint64_t first(uint64_t elements, uint64_t pixel) const {
    return image * elements * pixel + channel;
  }
};

__device__ __forceinline__ Place place_of(uint64_t i, const uint64_t (&extents)[2], uint64_t pixel) {
  uint64_t at = pixel == 1 ? i : i / pixel, row = at / extents[1], image = row / extents[0];
  return {image, i - at * pixel, row - image * extents[0], at - row * extents[1]};
}
