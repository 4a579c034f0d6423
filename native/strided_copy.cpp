// Transposed copies go tile by tile, so that the lines of memory of a tile are read and written while they are in the cache.
#include "strided_copy.h"

#include <algorithm>
#include <cstring>

#include "threads.h"

namespace nj {

namespace {

constexpr int64_t kLarge = 1 << 18;  // bytes from which tiles and threads pay
constexpr int64_t kTile = 16;        // along both axes
constexpr int64_t kBlock = 256;      // along the last axis, for one chunk of work
constexpr int kMostAxes = 32;

struct Copy {
  const char* from;
  char* to;
  int rank;
  const intptr_t *shape, *strides;
  int64_t steps[kMostAxes];  // in bytes, between neighbours in the contiguous copy
  int64_t item;
  int fast;                  // the axis along which elements are neighbours
  int64_t blocks;            // of the last axis

  // A part of the last axis, for everything along `fast`, at one place of the other axes.
  void chunk(int64_t number) const {
    const int64_t first = number % blocks * kBlock, last = std::min<int64_t>(first + kBlock, shape[rank - 1]);
    const char* source = from;
    char* target = to;
    int64_t place = number / blocks;
    for (int axis = rank - 2; axis >= 0; --axis) {
      if (axis == fast) continue;
      source += place % shape[axis] * strides[axis];
      target += place % shape[axis] * steps[axis];
      place /= shape[axis];
    }
    for (int64_t f = 0; f < shape[fast]; f += kTile)
      for (int64_t l = first; l < last; l += kTile)
        tile(source + f * item + l * strides[rank - 1], target + f * steps[fast] + l * item,
             std::min<int64_t>(kTile, shape[fast] - f), std::min(kTile, last - l));
  }

  void tile(const char* source, char* target, int64_t rows, int64_t columns) const {
    switch (item) {
      case 1: return tile_of<uint8_t>(source, target, rows, columns);
      case 2: return tile_of<uint16_t>(source, target, rows, columns);
      case 4: return tile_of<uint32_t>(source, target, rows, columns);
      case 8: return tile_of<uint64_t>(source, target, rows, columns);
      default: return tile_of<Wide>(source, target, rows, columns);
    }
  }

  struct Wide {
    uint64_t halves[2];
  };

  template <class T>
  void tile_of(const char* source, char* target, int64_t rows, int64_t columns) const {
    const int64_t stride = strides[rank - 1], step = steps[fast];
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(target + r * step + c * sizeof(T), source + r * sizeof(T) + c * stride, sizeof(T));
  }
};

}  // namespace

bool copy_transposed(const char* from, char* to, int rank, const intptr_t* shape, const intptr_t* strides, int64_t item) {
  if (rank < 2 || rank > kMostAxes || (item != 1 && item != 2 && item != 4 && item != 8 && item != 16)) return false;
  Copy copy{from, to, rank, shape, strides, {}, item, -1, (shape[rank - 1] + kBlock - 1) / kBlock};
  int64_t bytes = item, others = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    copy.steps[axis] = bytes;
    bytes *= shape[axis];
    if (axis < rank - 1 && strides[axis] == item && shape[axis] >= 4) copy.fast = axis;
  }
  if (copy.fast < 0 || bytes < kLarge || strides[rank - 1] == item) return false;
  for (int axis = 0; axis < rank - 1; ++axis)
    if (axis != copy.fast) others *= shape[axis];
  nj_parallel_for(others * copy.blocks, [](void* context, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) static_cast<const Copy*>(context)->chunk(k);
  }, &copy);
  return true;
}

}  // namespace nj
