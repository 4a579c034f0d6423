// Conversions between bools, integers and floats, and to complex numbers, as `lax.convert_element_type` has them: floats to integers are rounded towards
// zero and limited to the range, NaN is 0; to bool is `!= 0`; integers wrap.
#pragma once
#include "dispatch/eager/eager.h"

namespace nj {

// For two NumPy type numbers; null where there is none.
EagerLoop conversion(int from, int to);

}  // namespace nj
