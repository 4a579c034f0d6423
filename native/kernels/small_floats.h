// Conversions of floats of 16 bits and fewer, by integers. No Python in here.
#pragma once
#include <cstdint>
#include <cstring>

namespace nj {

template <typename To, typename From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

// The nearest small float with `exponent_bits` and `mantissa_bits`, ties to even: an integer division by powers of two.
inline uint32_t narrowed(double x, int exponent_bits, int mantissa_bits) {
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

inline float widened_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, size = half & 0x7FFFu;
  if (size >= 0x7C00u) {
    const uint32_t quiet = size > 0x7C00u ? 0x400000u : 0u;
    return bits_as<float>(sign | 0x7F800000u | quiet | (size & 0x3FFu) << 13);
  }
  const float value = bits_as<float>(size << 13) * 0x1p112f;
  return bits_as<float>(sign | bits_as<uint32_t>(value));
}

}  // namespace nj
