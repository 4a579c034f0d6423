// Selections, copies of parts and reads at known places, of elements of any type by their size. Null for sizes that there are not.
#pragma once
#include <vector>

#include "array/numpy_api.h"

namespace nj {

// out[k] = which[k] ? if_true[k] : if_false[k]. strides: bytes between elements of which, if_false, if_true.
using Selection = void (*)(char* out, const char* which, const char* if_false, const char* if_true, const npy_intp* strides,
                           npy_intp count);
Selection selection(npy_intp itemsize);

// An array of these dimensions, of elements of any strides.
using PartCopy = void (*)(char* out, const char* from, const std::vector<npy_intp>& dims, const std::vector<npy_intp>& strides);
PartCopy part_copy(npy_intp itemsize);

// out[k] = from[table[k]], or `other` where that is negative.
using Taking = void (*)(char* out, const char* from, const char* other, const std::vector<int64_t>& table);
Taking taking(npy_intp itemsize);

}  // namespace nj
