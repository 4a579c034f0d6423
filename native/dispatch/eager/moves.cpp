// Loops that move elements without looking at them, one for each size.
#include "dispatch/eager/moves.h"

#include <cstdint>
#include <cstring>

#include "runtime/memory/small_vector.h"

namespace nj {

namespace {

struct Wide {
  char bytes[16];
};

template <class T>
void select(char* out, const char* which, const char* if_false, const char* if_true, const npy_intp* strides, npy_intp count) {
  for (npy_intp k = 0; k < count; ++k) {
    const char* from = which[k * strides[0]] ? if_true + k * strides[2] : if_false + k * strides[1];
    std::memcpy(out + k * npy_intp(sizeof(T)), from, sizeof(T));
  }
}

// Copies elements of any strides, the last axis by a loop of its own.
template <class T>
void copy_part(char* out, const char* from, const std::vector<npy_intp>& dims, const std::vector<npy_intp>& strides) {
  const size_t rank = dims.size();
  const npy_intp length = rank ? dims[rank - 1] : 1, stride = rank ? strides[rank - 1] : 0;
  SmallVector<npy_intp, 8> at;
  for (size_t k = 0; k + 1 < rank; ++k) at.push_back(0);
  for (;;) {
    for (npy_intp k = 0; k < length; ++k, out += sizeof(T)) std::memcpy(out, from + k * stride, sizeof(T));
    size_t axis = at.size();
    while (axis > 0) {
      --axis;
      from += strides[axis];
      if (++at[axis] < dims[axis]) break;
      from -= strides[axis] * dims[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (at.empty()) return;
  }
}

template <class T> void take(char* out, const char* from, const char* other, const std::vector<int64_t>& table) {
  for (const int64_t number : table) {
    std::memcpy(out, number < 0 ? other : from + number * int64_t(sizeof(T)), sizeof(T));
    out += sizeof(T);
  }
}

}  // namespace

Selection selection(npy_intp itemsize) {
  switch (itemsize) {
    case 1: return select<uint8_t>;
    case 2: return select<uint16_t>;
    case 4: return select<uint32_t>;
    case 8: return select<uint64_t>;
    case 16: return select<Wide>;
    default: return nullptr;
  }
}

PartCopy part_copy(npy_intp itemsize) {
  switch (itemsize) {
    case 1: return copy_part<uint8_t>;
    case 2: return copy_part<uint16_t>;
    case 4: return copy_part<uint32_t>;
    case 8: return copy_part<uint64_t>;
    case 16: return copy_part<Wide>;
    default: return nullptr;
  }
}

Taking taking(npy_intp itemsize) {
  switch (itemsize) {
    case 1: return take<uint8_t>;
    case 2: return take<uint16_t>;
    case 4: return take<uint32_t>;
    case 8: return take<uint64_t>;
    case 16: return take<Wide>;
    default: return nullptr;
  }
}

}  // namespace nj
