// See transpose.h.
#include "kernels/copy/transpose.h"

#include "simd/choice.h"

namespace nj {

#define NJ_DECLARE_SQUARES(set) \
  namespace set { extern const squares::Turn square_turns[5]; }
NJ_DECLARE_SQUARES(portable)
#ifdef NJ_SIMD_X86
NJ_DECLARE_SQUARES(avx2)
NJ_DECLARE_SQUARES(avx512)
#endif

namespace squares {

Turn turn_of(int64_t item) {
  const int place = item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : item == 8 ? 3 : item == 16 ? 4 : -1;
  if (place < 0) return nullptr;
#ifdef NJ_SIMD_X86
  if (simd_choice() == Simd::avx512) return avx512::square_turns[place];
  if (simd_choice() == Simd::avx2) return avx2::square_turns[place];
#endif
  return portable::square_turns[place];
}

}  // namespace squares
}  // namespace nj
