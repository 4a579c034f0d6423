// See choice.h.
#include "simd/choice.h"

#include <algorithm>
#include <atomic>

#if defined(NJ_SIMD_X86) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

#if defined(NJ_SIMD_X86) && defined(__linux__)
// AMX-BF16, AMX-TILE and AMX-INT8: bits 22, 24 and 25 of EDX of leaf 7 (Intel's manual, volume 2A, CPUID).
bool knows_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned needed = 1u << 22 | 1u << 24 | 1u << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & needed) == needed;
}

// Linux saves tiles for processes that have asked for it (Documentation/arch/x86/xstate.rst).
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

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

bool has_tiles() {
#if defined(NJ_SIMD_X86) && defined(__linux__)
  static const bool found = has_bf16() && knows_tiles() && may_use_tiles();
  return found;
#else
  return false;
#endif
}

}  // namespace nj
