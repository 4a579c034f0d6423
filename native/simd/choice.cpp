// See choice.h.
#include "simd/choice.h"

#include <algorithm>
#include <atomic>

namespace nj {

namespace {

std::atomic<Simd> limit{Simd::avx512};
std::atomic<bool> chosen{false};

Simd supported() {
#ifdef NJ_SIMD_X86
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!fma) return Simd::portable;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return wide ? Simd::avx512 : Simd::avx2;
#else
  return Simd::portable;
#endif
}

}  // namespace

Simd simd_choice() {
  static const Simd choice = [] {
    chosen.store(true);
    return std::min(supported(), limit.load());
  }();
  return choice;
}

bool limit_simd(Simd widest) {
  limit.store(widest);
  return !chosen.load() && widest <= supported();
}

bool has_vnni() {
#ifdef NJ_SIMD_X86
  static const bool found = simd_choice() == Simd::avx512 && __builtin_cpu_supports("avx512vnni");
  return found;
#else
  return false;
#endif
}

bool has_bf16() {
#ifdef NJ_SIMD_X86
  static const bool found = has_vnni() && __builtin_cpu_supports("avx512bf16");
  return found;
#else
  return false;
#endif
}

}  // namespace nj
