// See panels.h.
#include "kernels/linalg/panels.h"

#include "simd/choice.h"

namespace nj {

NJ_EACH_SIMD(extern const lapack::PanelFunctions<float> float_panels)
NJ_EACH_SIMD(extern const lapack::PanelFunctions<double> double_panels)

template <> const lapack::PanelFunctions<float>& lapack::panel_functions() { return NJ_CHOSEN_SIMD(float_panels); }
template <> const lapack::PanelFunctions<double>& lapack::panel_functions() { return NJ_CHOSEN_SIMD(double_panels); }

}  // namespace nj
