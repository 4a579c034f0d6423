// See simd_choice.h.
#include "simd_choice.h"

namespace nj {

Simd simd_choice() {
#ifdef NJ_SIMD_X86
  static const Simd choice = [] {
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!fma) return Simd::portable;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return wide ? Simd::avx512 : Simd::avx2;
  }();
  return choice;
#else
  return Simd::portable;
#endif
}

bool has_vnni() {
#ifdef NJ_SIMD_X86
  static const bool found = simd_choice() == Simd::avx512 && __builtin_cpu_supports("avx512vnni");
  return found;
#else
  return false;
#endif
}

}  // namespace nj
