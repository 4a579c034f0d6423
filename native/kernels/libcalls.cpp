// What machine code may call where a CPU lacks an instruction: conversions of small floats, integers of 128 bits, counts of
// bits. Compilers' own support libraries have these, but a process need not have such a library. No Python in here.
//
// A small float is passed and returned in the low 16 bits of a register for floats, here those of a float.
#include <cstdint>
#include <cstring>

#include "kernels/registry.h"

namespace nj {
namespace {

template <typename To, typename From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

uint16_t low_bits(float holder) { return static_cast<uint16_t>(bits_as<uint32_t>(holder)); }

float holder_of(uint32_t bits) { return bits_as<float>(bits); }

// The nearest small float with `exponent_bits` and `mantissa_bits`, ties to even: an integer division by powers of two.
uint32_t narrowed(double x, int exponent_bits, int mantissa_bits) {
  const uint64_t bits = bits_as<uint64_t>(x);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (exponent_bits + mantissa_bits);
  const uint32_t infinity = ((1u << exponent_bits) - 1u) << mantissa_bits;
  const int biased = static_cast<int>(bits >> 52 & 0x7FF);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7FF) {
    const uint32_t quiet = fraction == 0 ? 0 : 1u << (mantissa_bits - 1);
    return sign | infinity | quiet | static_cast<uint32_t>(fraction >> (52 - mantissa_bits));
  }
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = biased - 1023 + bias;  // of the result, 0 and below for subnormal ones
  if (exponent >= (1 << exponent_bits) - 1) return sign | infinity;
  const int drop = 52 - mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  if (biased == 0 || drop > 54) return sign;
  const uint64_t whole = fraction | uint64_t{1} << 52;
  const uint64_t kept = whole >> drop, rest = whole & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
  const uint32_t rounded = static_cast<uint32_t>(kept + (rest > half || (rest == half && (kept & 1))));
  // The leading one of a normal number adds 1 to the exponent, as a carry from rounding does.
  return sign | (exponent < 1 ? rounded : (static_cast<uint32_t>(exponent - 1) << mantissa_bits) + rounded);
}

float widened_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, size = half & 0x7FFFu;
  if (size >= 0x7C00u) {
    const uint32_t quiet = size > 0x7C00u ? 0x400000u : 0u;
    return bits_as<float>(sign | 0x7F800000u | quiet | (size & 0x3FFu) << 13);
  }
  const float value = bits_as<float>(size << 13) * 0x1p112f;
  return bits_as<float>(sign | bits_as<uint32_t>(value));
}

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
