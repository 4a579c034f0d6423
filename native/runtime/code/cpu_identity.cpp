// See cpu_identity.h.
#include "runtime/code/cpu_identity.h"

#include <cstdint>
#include <cstdio>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace nj {

namespace {

void append(std::string& text, uint64_t word) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%llx.", static_cast<unsigned long long>(word));
  text += digits;
}

#if defined(__x86_64__) || defined(__i386__)

// Without what differs between cores (numbers of the core in leaf 1), and what the system turns on later.
void append_leaf(std::string& text, unsigned leaf, unsigned subleaf) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(leaf, subleaf, &a, &b, &c, &d)) return;
  append(text, a);
  if (leaf != 1) append(text, b);
  append(text, c);
  append(text, d);
}

// The registers that the system saves: AVX is of use only where it does.
void append_saved_state(std::string& text) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  append(text, uint64_t(high) << 32 | low);
}

#endif

}  // namespace

std::string cpu_identity() {
  std::string text;
#if defined(__x86_64__) || defined(__i386__)
  append_leaf(text, 0, 0);
  append_leaf(text, 1, 0);
  append_leaf(text, 7, 0);
  append_leaf(text, 7, 1);
  append_leaf(text, 0x80000001, 0);
  append_saved_state(text);
#elif defined(__linux__)
  append(text, getauxval(AT_HWCAP));
  append(text, getauxval(AT_HWCAP2));
#endif
  return text;
}

}  // namespace nj
