// Copies of operands in the order in which micro-kernels read them: out[p][0 ... height), widened. See Pack in gemm.h.
#pragma once
#include "simd/gemm_lanes.h"

namespace nj::NJ_SIMD {

constexpr int64_t kLinesAhead = 16;  // for which is asked before they are read: they are often on pages of their own

template <class From, class T> NJ_INLINE T widened(const From* from) {
  if constexpr (std::is_same_v<From, Bfloat16> || std::is_same_v<From, Float16>) return read<From, T>(from, 1)[0];
  else return static_cast<T>(*from);
}

// Stores a last part of `there` lanes of a line; `room` is how far it is to the end of all. The lines behind are written later:
// they overwrite what a whole vector leaves in them, so that only the last ones need masks, which are slow without AVX-512.
template <class T> NJ_INLINE void store_part(T* out, Vector<T> value, int64_t there, int64_t room) {
  if (room >= lanes_of<T>) store(out, value);
  else store(out, value, first_lanes<T>(fewer(lanes_of<T>, there)));
}

// Neighbours lie side by side.
template <class From, class T>
void pack_lines(const From* from, int64_t sp, int64_t count, int64_t height, int64_t k, T* out) {
  constexpr int lanes = lanes_of<T>;
  for (int64_t p = 0; p < k; ++p, from += sp, out += height) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) store(out + i, Reader<From, T>::load(from + i));
    const bool more = count == height && p + 1 < k && sp + count - i >= lanes;  // a whole vector ends in the next line
    for (; i < height; i += lanes) {
      const Vector<T> v = more ? Reader<From, T>::load(from + i) : i < count ? read<From, T>(from + i, count - i) : Vector<T>{};
      store_part(out + i, v, height - i, (k - p) * height - i);
    }
  }
}

// Steps lie side by side, lines `line` bytes apart: squares are turned round in registers.
template <class From, class T>
void pack_turned(const char* from, int64_t line, int64_t count, int64_t height, int64_t k, T* out) {
  constexpr int side = lanes_of<T>;
  for (int64_t p = 0; p < k; p += side) {
    const int64_t wide = fewer(side, k - p);
    for (int64_t i = 0; i < height; i += side) {
      Vector<T> square[side];
#pragma GCC unroll 16
      for (int64_t r = 0; r < side; ++r) {
        auto* steps = reinterpret_cast<const From*>(from + (i + r) * line) + p;
        __builtin_prefetch(reinterpret_cast<const char*>(steps) + height * line);  // of what is packed next
        if (i + r >= count) square[r] = Vector<T>{};
        else square[r] = wide == side ? Reader<From, T>::load(steps) : read<From, T>(steps, wide);
      }
      transpose<T>(square);
      const auto put = [&](int64_t q) __attribute__((always_inline)) {  // of several parts the ones behind are written already
        const int64_t room = height > side ? height - i : (k - p - q) * height;
        store_part(out + (p + q) * height + i, square[q], height - i, room);
      };
      if (wide == side) {
#pragma GCC unroll 16
        for (int64_t q = 0; q < side; ++q) put(q);
      } else {
        for (int64_t q = 0; q < wide; ++q) put(q);
      }
    }
  }
}

template <class From, class T>
void pack_any(const From* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, T* out) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < k; ++p) out[p * height + i] = widened<From, T>(from + i * si + p * sp);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = count; i < height; ++i) out[p * height + i] = T{};
}

template <class From, class T>
void pack(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  if (si == 1) pack_lines(from, sp, count, height, k, out);
  else if (sp == 1) pack_turned<From, T>(from_bytes, si * static_cast<int64_t>(sizeof(From)), count, height, k, out);
  else pack_any(from, si, sp, count, height, k, out);
}

// Complex numbers as they are.
template <class T>
void pack_twins(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  struct Twins { T re, im; };
  auto* from = reinterpret_cast<const Twins*>(from_bytes);
  auto* out = reinterpret_cast<Twins*>(out_bytes);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < height; ++i) out[p * height + i] = i < count ? from[i * si + p * sp] : Twins{};
}

// Complex columns of B: real parts, then imaginary parts.
template <class T>
void pack_parts(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const T*>(from_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  for (int64_t p = 0; p < k; ++p, out += 2 * height) {
    for (int64_t i = 0; i < height; ++i) {
      const T* x = from + 2 * (i * si + p * sp);
      out[i] = i < count ? x[0] : T{};
      out[height + i] = i < count ? x[1] : T{};
    }
  }
}

// `group` neighbours along k side by side, `flip` in exclusive or; zeros after the last one.
template <class From, class To, int group, int flip>
void pack_groups(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* out = reinterpret_cast<To*>(out_bytes);
  for (int64_t p = 0; p < k; p += group, out += group * height) {
    const int64_t there = fewer(group, k - p);
    const From* line = from + p * sp;
    if (there == group && count == height) {
      for (int64_t i = 0; i < height; ++i)
        for (int g = 0; g < group; ++g) out[group * i + g] = static_cast<To>(line[i * si + g * sp] ^ flip);
    } else {
      for (int64_t i = 0; i < height; ++i)
        for (int g = 0; g < group; ++g)
          out[group * i + g] = i < count && g < there ? static_cast<To>(line[i * si + g * sp] ^ flip) : To{};
    }
  }
}

// Neighbours of 16 bits lie side by side: of `pairs` lines and the next ones.
inline void pack_line_pairs(const uint16_t* from, int64_t sp, int64_t count, int64_t height, int64_t pairs, uint32_t* out) {
  constexpr int lanes = lanes_of<uint32_t>;
  using Read = Reader<uint16_t, uint32_t>;
  for (int64_t p = 0; p < pairs; ++p, from += 2 * sp, out += height) {
    for (int64_t i = 0; i < height; i += lanes) {
      const uint16_t *low = from + i, *high = low + sp;
      __builtin_prefetch(low + kLinesAhead * sp);
      __builtin_prefetch(high + kLinesAhead * sp);
      const bool more = count == height && p + 1 < pairs && sp + count - i >= lanes;  // a whole vector ends in the next line
      if (i + lanes <= count || more) {
        store_part(out + i, Read::load(low) | Read::load(high) << 16, height - i, (pairs - p) * height - i);
      } else {
        const int64_t rest = fewer(lanes, count > i ? count - i : 0);
        const Vector<uint32_t> both = read<uint16_t, uint32_t>(low, rest) | read<uint16_t, uint32_t>(high, rest) << 16;
        store_part(out + i, both, height - i, (pairs - p) * height - i);
      }
    }
  }
}

// Two neighbours of 16 bits along k side by side; a zero after the last one.
inline void pack_pairs(const char* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out) {
  const int64_t pairs = k / 2;
  auto* to = reinterpret_cast<uint32_t*>(out);
  if (sp == 1) pack_turned<uint32_t, uint32_t>(from, 2 * si, count, height, pairs, to);
  else if (si == 1) pack_line_pairs(reinterpret_cast<const uint16_t*>(from), sp, count, height, pairs, to);
  else return pack_groups<uint16_t, uint16_t, 2, 0>(from, si, sp, count, height, k, out);
  if (k % 2)
    pack_groups<uint16_t, uint16_t, 2, 0>(from + 4 * pairs * sp, si, sp, count, height, 1, out + 4 * pairs * height);
}

// Words: `there` neighbours along k of `places` places side by side, zeros otherwise.
template <class T> NJ_INLINE Vector<uint32_t> words(const T* from, int64_t sp, int64_t places, int64_t there) {
  constexpr int group = 4 / sizeof(T);
  Vector<uint32_t> v{};
#pragma GCC unroll 4
  for (int g = 0; g < group; ++g) {
    if (g >= there) break;
    const T* line = from + g * sp;
    __builtin_prefetch(line + kLinesAhead * sp);
    v |= (places == lanes_of<uint32_t> ? Reader<T, uint32_t>::load(line) : read<T, uint32_t>(line, places)) << (32 / group * g);
  }
  return v;
}

// Neighbours of 8 bits lie side by side: of `quads` lines and the next three.
inline void pack_line_quads(const uint8_t* from, int64_t sp, int64_t count, int64_t height, int64_t quads, uint32_t* out) {
  constexpr int lanes = lanes_of<uint32_t>;
  for (int64_t p = 0; p < quads; ++p, from += 4 * sp, out += height)
    for (int64_t i = 0; i < height; i += lanes) {
      const int64_t places = fewer(lanes, count > i ? count - i : 0);
      store_part(out + i, words(from + i, sp, places, 4), height - i, (quads - p) * height - i);
    }
}

// Four neighbours of 8 bits along k side by side, `flip` in exclusive or; after the last one, what becomes of zeros.
template <uint8_t flip>
void pack_quads(const char* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out) {
  const int64_t quads = k / 4;
  auto* to = reinterpret_cast<uint32_t*>(out);
  if (sp == 1) {
    pack_turned<uint32_t, uint32_t>(from, si, count, height, quads, to);
  } else if (si == 1) {
    pack_line_quads(reinterpret_cast<const uint8_t*>(from), sp, count, height, quads, to);
  } else {
    return pack_groups<uint8_t, uint8_t, 4, flip>(from, si, sp, count, height, k, out);
  }
  if constexpr (flip != 0)
    for (int64_t i = 0; i < quads * height; ++i) to[i] ^= flip * 0x01010101u;
  if (k % 4)
    pack_groups<uint8_t, uint8_t, 4, flip>(from + 4 * quads * sp, si, sp, count, height, k % 4, out + 4 * quads * height);
}

}  // namespace nj::NJ_SIMD
