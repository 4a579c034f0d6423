// Micro-kernels for CPUs with AMX, whose registers are tiles of 16 rows of 64 bytes: one instruction multiplies a tile of A
// (16 rows, 16 words of 2 or 4 neighbours along k) with one of B (16 words, 16 columns) and adds to a tile of C. See gemm.h.
//
// A step are 64 bytes of each row: 16 words. A is packed row by row, out[step][row][word], B as for other kernels,
// out[step][word][column]. The instructions are written out, as the other files of this set do without them.
#pragma once
#include "simd/gemm_micro.h"
#include "simd/gemm_pack.h"

namespace nj::NJ_SIMD {

using gemm::kTileRows;

constexpr int64_t kTileBytes = 64;         // of a row
constexpr int kTiledRows = 2 * kTileRows;  // of C: two tiles, side by side with two others

// The number of rows for which this thread's tiles are set up; 0: they are not.
inline thread_local int64_t rows_of_tiles = 0;

// Tiles 0, 1 (C) and 4 (A) have the first 16 of `rows`, tiles 2, 3 and 5 the others, 6 and 7 are of B.
inline void set_up_tiles(int64_t rows) {
  if (rows_of_tiles == rows) return;
  struct alignas(64) { uint8_t palette, start, unused[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } shapes{};
  shapes.palette = 1;
  const auto above = static_cast<uint8_t>(fewer(rows, kTileRows)), below = static_cast<uint8_t>(rows - above);
  for (const int tile : {0, 1, 4, 2, 3, 5, 6, 7}) {
    shapes.rows[tile] = tile >= 6 ? kTileRows : tile == 2 || tile == 3 || tile == 5 ? below : above;
    shapes.row_bytes[tile] = shapes.rows[tile] ? kTileBytes : 0;
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  rows_of_tiles = rows;
}

// Leaves this thread's tiles, which are saved and restored with it otherwise.
inline void release_tiles() {
  if (rows_of_tiles == 0) return;
  asm volatile("tilerelease");
  rows_of_tiles = 0;
}

#define NJ_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : :)
#define NJ_TILE_LOAD(tile, from, row) asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(row) : "memory")
#define NJ_TILE_STORE(tile, to, row) asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(row) : "memory")
#define NJ_TILE_DOTS(name, instruction, T)                                                      \
  struct name {                                                                                 \
    using Result = T;                                                                           \
    NJ_INLINE static void c0() { asm volatile(instruction " %%tmm6, %%tmm4, %%tmm0" : :); }     \
    NJ_INLINE static void c1() { asm volatile(instruction " %%tmm7, %%tmm4, %%tmm1" : :); }     \
    NJ_INLINE static void c2() { asm volatile(instruction " %%tmm6, %%tmm5, %%tmm2" : :); }     \
    NJ_INLINE static void c3() { asm volatile(instruction " %%tmm7, %%tmm5, %%tmm3" : :); }     \
  }
// Of bfloat16, each product added and rounded by itself; subnormal numbers are taken as zeros, and sums become zeros.
NJ_TILE_DOTS(BfloatTiles, "tdpbf16ps", float);
NJ_TILE_DOTS(SignedTiles, "tdpbssd", uint32_t);
NJ_TILE_DOTS(UnsignedTiles, "tdpbuud", uint32_t);
#undef NJ_TILE_DOTS

template <bool down, bool right> NJ_INLINE void clear_tiles() {
  NJ_TILE_ZERO(0);
  if constexpr (right) NJ_TILE_ZERO(1);
  if constexpr (down) NJ_TILE_ZERO(2);
  if constexpr (down && right) NJ_TILE_ZERO(3);
}

template <bool down, bool right> NJ_INLINE void load_tiles(const char* c, int64_t row) {
  const char* const below = c + kTileRows * row;
  NJ_TILE_LOAD(0, c, row);
  if constexpr (right) NJ_TILE_LOAD(1, c + kTileBytes, row);
  if constexpr (down) NJ_TILE_LOAD(2, below, row);
  if constexpr (down && right) NJ_TILE_LOAD(3, below + kTileBytes, row);
}

template <bool down, bool right> NJ_INLINE void store_tiles(char* c, int64_t row) {
  char* const below = c + kTileRows * row;
  NJ_TILE_STORE(0, c, row);
  if constexpr (right) NJ_TILE_STORE(1, c + kTileBytes, row);
  if constexpr (down) NJ_TILE_STORE(2, below, row);
  if constexpr (down && right) NJ_TILE_STORE(3, below + kTileBytes, row);
}

template <class Dots, bool down, bool right>
NJ_INLINE void multiply_tiles(int64_t steps, const char* a, int64_t a_step, const char* b, int64_t b_step) {
  const int64_t b_row = b_step / kTileRows;
  for (int64_t p = 0; p < steps; ++p, a += a_step, b += b_step) {
    NJ_TILE_LOAD(4, a, kTileBytes);
    NJ_TILE_LOAD(6, b, b_row);
    Dots::c0();
    if constexpr (right) {
      NJ_TILE_LOAD(7, b + kTileBytes, b_row);
      Dots::c1();
    }
    if constexpr (down) {
      NJ_TILE_LOAD(5, a + kTileRows * kTileBytes, kTileBytes);
      Dots::c2();
      if constexpr (right) Dots::c3();
    }
  }
}

// C, or a copy of it if columns are missing: tiles are loaded and stored whole.
template <class T> NJ_INLINE void copy_columns(const char* from, int64_t from_row, char* to, int64_t to_row, int64_t rows,
                                               int64_t columns) {
  constexpr int lanes = lanes_of<T>;
  const Mask<T> first = first_lanes<T>(fewer(columns, lanes)), second = first_lanes<T>(columns > lanes ? columns - lanes : 0);
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
    store(reinterpret_cast<T*>(to), load(reinterpret_cast<const T*>(from), first), first);
    if (columns > lanes) store(reinterpret_cast<T*>(to) + lanes, load(reinterpret_cast<const T*>(from) + lanes, second), second);
  }
}

template <class Dots, bool down, bool right>
void tiles(int64_t rows, int64_t steps, const char* a, const char* b, int64_t b_step, char* c, int64_t c_row, int64_t columns,
           Into into) {
  using T = typename Dots::Result;
  constexpr int64_t width = right ? 2 * kTileBytes : kTileBytes;
  alignas(64) char copy[kTiledRows * width];
  const bool missing = columns * static_cast<int64_t>(sizeof(T)) < width;
  char* const there = missing ? copy : c;
  const int64_t row = missing ? width : c_row;
  set_up_tiles(rows);
  if (into == Into::set) {
    clear_tiles<down, right>();
  } else {
    if (missing) copy_columns<T>(c, c_row, copy, width, rows, columns);
    load_tiles<down, right>(there, row);
  }
  multiply_tiles<Dots, down, right>(steps, a, rows * kTileBytes, b, b_step);
  store_tiles<down, right>(there, row);
  if (missing) copy_columns<T>(copy, width, c, c_row, rows, columns);
}

template <class Dots, int R>
void micro_tiles(int64_t steps, const char* a, int64_t /* a_step */, const char* b, int64_t b_step, char* c, int64_t c_row,
                 int64_t columns, Into into) {
  constexpr bool down = R > kTileRows;
  if (columns > lanes_of<typename Dots::Result>) tiles<Dots, down, true>(R, steps, a, b, b_step, c, c_row, columns, into);
  else tiles<Dots, down, false>(R, steps, a, b, b_step, c, c_row, columns, into);
}

// Places lie side by side: squares of 16 words are turned round in registers.
template <class T>
void pack_tile_columns(const T* from, int64_t sp, int64_t count, int64_t k, T* out) {
  constexpr int64_t group = 4 / sizeof(T), step = kTileBytes / sizeof(T);
  for (int64_t p = 0; p < k; p += step, from += step * sp, out += step * count)
    for (int64_t i = 0; i < count; i += kTileRows) {
      const int64_t places = fewer(kTileRows, count - i);
      Vector<uint32_t> square[kTileRows];
#pragma GCC unroll 16
      for (int64_t w = 0; w < kTileRows; ++w) square[w] = words(from + i + w * group * sp, sp, places, k - p - w * group);
      transpose<uint32_t>(square);
#pragma GCC unroll 16
      for (int64_t r = 0; r < kTileRows; ++r)
        if (r < places) store(reinterpret_cast<uint32_t*>(out + (i + r) * step), square[r]);
    }
}

// A: out[step][row][k], zeros after the last one.
template <class T>
void pack_tile_rows(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t, int64_t k, char* out_bytes) {
  constexpr int64_t step = kTileBytes / sizeof(T);
  auto* from = reinterpret_cast<const T*>(from_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  if (si == 1 && sp != 1) return pack_tile_columns(from, sp, count, k, out);
  for (int64_t i = 0; i < count; ++i, from += si, out += step)
    for (int64_t p = 0; p < k; p += step) {
      T* const to = out + p * count;
      const int64_t there = fewer(step, k - p);
      if (sp == 1 && there == step) {
        __builtin_memcpy(to, from + p, kTileBytes);
      } else {
        for (int64_t q = 0; q < step; ++q) to[q] = q < there ? from[(p + q) * sp] : T{};
      }
    }
}

// B: words as for other kernels, and zeros up to the end of the last step.
template <class T, gemm::Pack pack_words>
void pack_tile_words(const char* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out) {
  constexpr int64_t group = 4 / sizeof(T);
  pack_words(from, si, sp, count, height, k, out);
  const int64_t made = (k + group - 1) / group, whole = (made + kTileRows - 1) / kTileRows * kTileRows;
  __builtin_memset(out + made * height * 4, 0, (whole - made) * height * 4);
}

}  // namespace nj::NJ_SIMD
