// See panels.h.
#include "kernels/linalg/panels.h"

#include "simd/choice.h"

namespace nj {

#define NJ_DECLARE_PANELS(set)                               \
  namespace set {                                            \
  extern const lapack::PanelFunctions<float> float_panels;   \
  extern const lapack::PanelFunctions<double> double_panels; \
  }
NJ_DECLARE_PANELS(portable)
#ifdef NJ_SIMD_X86
NJ_DECLARE_PANELS(avx2)
NJ_DECLARE_PANELS(avx512)
#endif

namespace lapack {

template <> const PanelFunctions<float>& panel_functions() {
#ifdef NJ_SIMD_X86
  if (simd_choice() == Simd::avx512) return avx512::float_panels;
  if (simd_choice() == Simd::avx2) return avx2::float_panels;
#endif
  return portable::float_panels;
}

template <> const PanelFunctions<double>& panel_functions() {
#ifdef NJ_SIMD_X86
  if (simd_choice() == Simd::avx512) return avx512::double_panels;
  if (simd_choice() == Simd::avx2) return avx2::double_panels;
#endif
  return portable::double_panels;
}

}  // namespace lapack
}  // namespace nj
