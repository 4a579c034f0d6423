// See transpose.h.
#include "kernels/copy/transpose.h"

#include "simd/choice.h"

namespace nj {

NJ_EACH_SIMD(extern const squares::Turn square_turns[5])

squares::Turn squares::turn_of(int64_t item) {
  const int place = item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : item == 8 ? 3 : item == 16 ? 4 : -1;
  return place < 0 ? nullptr : NJ_CHOSEN_SIMD(square_turns)[place];
}

}  // namespace nj
