// See lanes.h.
#include "kernels/fft/lanes.h"

#include "simd/choice.h"

namespace nj {

NJ_EACH_SIMD(extern const fft::LaneFunctions<float> float_lanes)
NJ_EACH_SIMD(extern const fft::LaneFunctions<double> double_lanes)

template <> const fft::LaneFunctions<float>& fft::lane_functions() { return NJ_CHOSEN_SIMD(float_lanes); }
template <> const fft::LaneFunctions<double>& fft::lane_functions() { return NJ_CHOSEN_SIMD(double_lanes); }

}  // namespace nj
