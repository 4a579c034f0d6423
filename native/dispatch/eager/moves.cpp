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

template <class T, bool kAllAlike, bool kOneFalse, bool kOneTrue>
void select(char* out_bytes, const char* const* in, Py_ssize_t n) {
  const char* which = in[0];
  const T* if_false = reinterpret_cast<const T*>(in[1]);
  const T* if_true = reinterpret_cast<const T*>(in[2]);
  T* __restrict out = reinterpret_cast<T*>(out_bytes);
  for (Py_ssize_t k = 0; k < n; ++k) {
    const T x = if_false[kOneFalse ? 0 : k], y = if_true[kOneTrue ? 0 : k];
    out[k] = which[kAllAlike ? 0 : k] ? y : x;
  }
}

template <class T, bool... kOnes> EagerLoop pick_selection(const npy_intp* strides) {
  if constexpr (sizeof...(kOnes) == 3) return select<T, kOnes...>;
  else return *strides ? pick_selection<T, kOnes..., false>(strides + 1) : pick_selection<T, kOnes..., true>(strides + 1);
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

EagerLoop selection(npy_intp itemsize, const npy_intp* strides) {
  switch (itemsize) {
    case 1: return pick_selection<uint8_t>(strides);
    case 2: return pick_selection<uint16_t>(strides);
    case 4: return pick_selection<uint32_t>(strides);
    case 8: return pick_selection<uint64_t>(strides);
    case 16: return pick_selection<Wide>(strides);
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
