// Transposed copies go block by block, in squares that are transposed in registers, so that the lines of memory of a block
// are read and written while they are in the cache. Other strides are followed row by row.
#include "kernels/copy/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/copy/transpose.h"
#include "runtime/threads/parallel.h"

namespace nj {

namespace {

constexpr int64_t kLarge = 1 << 18;   // bytes from which threads pay
constexpr int64_t kRows = 128;        // of a transposed block, along the axis on which elements are neighbours
constexpr int64_t kColumns = 256;     // and along the last axis: one chunk of work
constexpr int64_t kPiece = 1 << 16;   // elements of a chunk of work where nothing is transposed
constexpr int kMostAxes = 32;

struct Copy {
  const char* from;
  char* to;
  int rank;
  int64_t shape[kMostAxes], strides[kMostAxes];
  int64_t steps[kMostAxes];  // in bytes, between neighbours in the contiguous copy
  int64_t item;
  squares::Turn turn;
  int fast;                  // the axis along which elements are neighbours, not the last; -1: none
  int64_t parts, part;       // of the last axis, and their length

  // Axes that follow each other in memory become one: a contiguous array is one long row.
  void merge_axes(int given, const intptr_t* sizes, const intptr_t* distances) {
    rank = 0;
    for (int axis = 0; axis < given; ++axis) {
      if (sizes[axis] == 1) continue;
      if (rank && strides[rank - 1] == distances[axis] * sizes[axis]) shape[rank - 1] *= sizes[axis];
      else shape[rank++] = sizes[axis];
      strides[rank - 1] = distances[axis];
    }
  }

  // A part of the last axis at one place of the other axes: for everything along `fast`, if there is such an axis.
  void chunk(int64_t number) const {
    const int64_t first = number % parts * part, count = std::min<int64_t>(part, shape[rank - 1] - first);
    const char* source = from + first * strides[rank - 1];
    char* target = to + first * item;
    int64_t place = number / parts;
    for (int axis = rank - 2; axis >= 0; --axis) {
      if (axis == fast) continue;
      source += place % shape[axis] * strides[axis];
      target += place % shape[axis] * steps[axis];
      place /= shape[axis];
    }
    if (fast < 0) return row(source, target, count);
    for (int64_t f = 0; f < shape[fast]; f += kRows)
      turn(source + f * item, strides[rank - 1], target + f * steps[fast], steps[fast],
           std::min<int64_t>(kRows, shape[fast] - f), count);
  }

  void row(const char* source, char* target, int64_t count) const {
    const int64_t stride = strides[rank - 1];
    if (stride == item) {
      std::memcpy(target, source, size_t(count * item));
      return;
    }
    switch (item) {
      case 1: return elements<uint8_t>(source, stride, target, count);
      case 2: return elements<uint16_t>(source, stride, target, count);
      case 4: return elements<uint32_t>(source, stride, target, count);
      case 8: return elements<uint64_t>(source, stride, target, count);
      default: return elements<Wide>(source, stride, target, count);
    }
  }

  struct Wide { uint64_t halves[2]; };

  static constexpr size_t kRegister = 16;   // bytes
  template <class T> using Lanes = std::make_integer_sequence<int, int(kRegister / sizeof(T))>;

  // Elements against their order, by registers that are reversed; how many.
  template <class T, int... lane>
  static int64_t backwards(const char* source, char* target, int64_t count, std::integer_sequence<int, lane...>) {
    typedef T Register __attribute__((vector_size(kRegister)));
    constexpr int64_t many = sizeof...(lane);
    int64_t k = 0;
    for (; k + many <= count; k += many) {
      Register x;
      std::memcpy(&x, source - (k + many - 1) * int64_t(sizeof(T)), kRegister);
      x = __builtin_shufflevector(x, x, (int(many) - 1 - lane)...);
      std::memcpy(target + k * int64_t(sizeof(T)), &x, kRegister);
    }
    return k;
  }

  template <class T> static void elements(const char* source, int64_t stride, char* target, int64_t count) {
    int64_t done = 0;
    if constexpr (sizeof(T) <= 8) {
      if (stride == -int64_t(sizeof(T))) done = backwards<T>(source, target, count, Lanes<T>());
    }
    for (int64_t k = done; k < count; ++k) std::memcpy(target + k * sizeof(T), source + k * stride, sizeof(T));
  }
};

}  // namespace

bool copy_strided(const char* from, char* to, int rank, const intptr_t* shape, const intptr_t* strides, int64_t item) {
  Copy copy{from, to, 0, {}, {}, {}, item, squares::turn_of(item), -1, 0, 0};
  if (rank > kMostAxes || !copy.turn) return false;
  copy.merge_axes(rank, shape, strides);
  const int last = copy.rank - 1;
  if (last < 0) return false;  // one element
  int64_t bytes = item;
  for (int axis = last; axis >= 0; --axis) {
    copy.steps[axis] = bytes;
    bytes *= copy.shape[axis];
    if (axis < last && copy.strides[axis] == item && copy.shape[axis] >= 4 && copy.strides[last] != item) copy.fast = axis;
  }
  if (bytes < kLarge) return false;
  copy.part = copy.fast < 0 ? kPiece : kColumns;
  copy.parts = (copy.shape[last] + copy.part - 1) / copy.part;
  int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis)
    if (axis != copy.fast) rows *= copy.shape[axis];
  // Short rows go to a thread by the dozen.
  const int64_t together = std::max<int64_t>(1, copy.fast < 0 ? kPiece / copy.shape[last] : 1), chunks = rows * copy.parts;
  parallel_for((chunks + together - 1) / together, [&](int64_t group) {
    for (int64_t k = group * together; k < std::min(chunks, (group + 1) * together); ++k) copy.chunk(k);
  });
  return true;
}

}  // namespace nj
