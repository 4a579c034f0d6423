// One loop over the axis for each row.
#include "dispatch/eager/extremes.h"

#include <cstdint>

namespace nj {

namespace {

template <class T, class Position, bool kGreatest>
void extreme(char* out, const char* in, npy_intp outer, npy_intp axis, npy_intp inner) {
  auto* to = reinterpret_cast<Position*>(out);
  for (npy_intp o = 0; o < outer; ++o) {
    for (npy_intp i = 0; i < inner; ++i) {
      const T* row = reinterpret_cast<const T*>(in) + o * axis * inner + i;
      npy_intp found = 0;
      for (npy_intp k = 1; k < axis && row[found * inner] == row[found * inner]; ++k) {
        const T x = row[k * inner], best = row[found * inner];
        if ((kGreatest ? x > best : x < best) || x != x) found = k;
      }
      *to++ = Position(found);
    }
  }
}

template <class T> Extreme pick(bool greatest, int position_type) {
  switch (position_type) {
    case NPY_INT: return greatest ? extreme<T, int32_t, true> : extreme<T, int32_t, false>;
    case NPY_LONG: return greatest ? extreme<T, npy_long, true> : extreme<T, npy_long, false>;
    default: return nullptr;
  }
}

}  // namespace

Extreme extreme_of(bool greatest, int type, int position_type) {
  switch (type) {
    case NPY_INT: return pick<int32_t>(greatest, position_type);
    case NPY_UINT: return pick<uint32_t>(greatest, position_type);
    case NPY_LONG: return pick<npy_long>(greatest, position_type);
    case NPY_ULONG: return pick<npy_ulong>(greatest, position_type);
    case NPY_FLOAT: return pick<float>(greatest, position_type);
    case NPY_DOUBLE: return pick<double>(greatest, position_type);
    default: return nullptr;
  }
}

}  // namespace nj
