// Positions of the greatest and the least elements along an axis of a small array.
#pragma once
#include "array/numpy_api.h"

namespace nj {

// For each of `outer` times `inner` rows of `axis` elements: the position of the first NaN, or else of the first extreme.
using Extreme = void (*)(char* out, const char* in, npy_intp outer, npy_intp axis, npy_intp inner);

// For the NumPy type numbers of the elements and of the positions; null for others.
Extreme extreme_of(bool greatest, int type, int position_type);

}  // namespace nj
