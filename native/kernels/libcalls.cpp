// What machine code may call where a CPU lacks an instruction: conversions of small floats, integers of 128 bits, counts of
// bits. Compilers' own support libraries have these, but a process need not have such a library. No Python in here.
//
// A small float is passed and returned in the low 16 bits of a register for floats, here those of a float.
#include <cstdint>

#include "kernels/registry.h"
#include "kernels/small_floats.h"

namespace nj {
namespace {

uint16_t low_bits(float holder) { return static_cast<uint16_t>(bits_as<uint32_t>(holder)); }

float holder_of(uint32_t bits) { return bits_as<float>(bits); }

using Signed = __int128;
using Unsigned = unsigned __int128;

}  // namespace
}  // namespace nj

extern "C" {
float nj_truncsfhf2(float x) { return nj::holder_of(nj::narrowed(x, 5, 10)); }
float nj_truncdfhf2(double x) { return nj::holder_of(nj::narrowed(x, 5, 10)); }
float nj_truncsfbf2(float x) { return nj::holder_of(nj::narrowed(x, 8, 7)); }
float nj_truncdfbf2(double x) { return nj::holder_of(nj::narrowed(x, 8, 7)); }
float nj_extendhfsf2(float x) { return nj::widened_half(nj::low_bits(x)); }
double nj_extendhfdf2(float x) { return nj::widened_half(nj::low_bits(x)); }
float nj_extendbfsf2(float x) { return nj::bits_as<float>(static_cast<uint32_t>(nj::low_bits(x)) << 16); }

nj::Signed nj_multi3(nj::Signed a, nj::Signed b) {
  return static_cast<nj::Signed>(static_cast<nj::Unsigned>(a) * static_cast<nj::Unsigned>(b));
}
nj::Signed nj_divti3(nj::Signed a, nj::Signed b) { return a / b; }
nj::Signed nj_modti3(nj::Signed a, nj::Signed b) { return a % b; }
nj::Unsigned nj_udivti3(nj::Unsigned a, nj::Unsigned b) { return a / b; }
nj::Unsigned nj_umodti3(nj::Unsigned a, nj::Unsigned b) { return a % b; }
nj::Unsigned nj_ashlti3(nj::Unsigned a, int n) { return a << n; }
nj::Unsigned nj_lshrti3(nj::Unsigned a, int n) { return a >> n; }
nj::Signed nj_ashrti3(nj::Signed a, int n) { return a >> n; }
int nj_popcountdi2(int64_t x) { return __builtin_popcountll(static_cast<uint64_t>(x)); }
int nj_popcountsi2(int32_t x) { return __builtin_popcount(static_cast<uint32_t>(x)); }
}

NJ_KERNEL(nj_truncsfhf2);
NJ_KERNEL(nj_truncdfhf2);
NJ_KERNEL(nj_truncsfbf2);
NJ_KERNEL(nj_truncdfbf2);
NJ_KERNEL(nj_extendhfsf2);
NJ_KERNEL(nj_extendhfdf2);
NJ_KERNEL(nj_extendbfsf2);
NJ_KERNEL(nj_multi3);
NJ_KERNEL(nj_divti3);
NJ_KERNEL(nj_modti3);
NJ_KERNEL(nj_udivti3);
NJ_KERNEL(nj_umodti3);
NJ_KERNEL(nj_ashlti3);
NJ_KERNEL(nj_lshrti3);
NJ_KERNEL(nj_ashrti3);
NJ_KERNEL(nj_popcountdi2);
NJ_KERNEL(nj_popcountsi2);
