// See lanes.h.
#include "kernels/fft/lanes.h"

#include "simd/choice.h"

namespace nj {

#define NJ_DECLARE_LANES(set)                           \
  namespace set {                                       \
  extern const fft::LaneFunctions<float> float_lanes;   \
  extern const fft::LaneFunctions<double> double_lanes; \
  }
NJ_DECLARE_LANES(portable)
#ifdef NJ_SIMD_X86
NJ_DECLARE_LANES(avx2)
NJ_DECLARE_LANES(avx512)
#endif

namespace fft {

template <> const LaneFunctions<float>& lane_functions() {
#ifdef NJ_SIMD_X86
  if (simd_choice() == Simd::avx512) return avx512::float_lanes;
  if (simd_choice() == Simd::avx2) return avx2::float_lanes;
#endif
  return portable::float_lanes;
}

template <> const LaneFunctions<double>& lane_functions() {
#ifdef NJ_SIMD_X86
  if (simd_choice() == Simd::avx512) return avx512::double_lanes;
  if (simd_choice() == Simd::avx2) return avx2::double_lanes;
#endif
  return portable::double_lanes;
}

}  // namespace fft
}  // namespace nj
