// Selections, copies of parts and reads at known places, of elements of any type by their size. Null for sizes that there are not.
#pragma once
#include <vector>

#include "array/numpy_api.h"
#include "dispatch/eager/eager.h"

namespace nj {

// out[k] = in[0][k] ? in[2][k] : in[1][k], of bools and elements of a size. strides: bytes between the elements of the operands.
EagerLoop selection(npy_intp itemsize, const npy_intp* strides);

// An array of these dimensions, of elements of any strides.
using PartCopy = void (*)(char* out, const char* from, const std::vector<npy_intp>& dims, const std::vector<npy_intp>& strides);
PartCopy part_copy(npy_intp itemsize);

// out[k] = from[table[k]], or `other` where that is negative.
using Taking = void (*)(char* out, const char* from, const char* other, const std::vector<int64_t>& table);
Taking taking(npy_intp itemsize);

}  // namespace nj
