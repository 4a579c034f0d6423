// The kernels of matrix products by dtype. See gemm.h. Compiled once per instruction set; see vectors.h.
#include "simd/gemm_micro.h"
#include "simd/gemm_pack.h"
#include "simd/gemm_vector.h"
#if defined(__AVX512F__)
#include "simd/gemm_tiles.h"
#endif

namespace nj::NJ_SIMD {
namespace {

using gemm::Kernel;

// Rows of a tile: accumulators fill the registers, of which there are 16 or 32.
#if defined(__AVX512F__)
constexpr int kRows = 14, kComplexRows = 12;
#elif defined(__AVX2__)
constexpr int kRows = 6, kComplexRows = 4;
#else
constexpr int kRows = 4, kComplexRows = 4;
#endif
constexpr int kIntegerRows = kRows < 8 ? kRows : 8, kGroupRows = kRows < 12 ? kRows : 12;

// With AVX-512, whole tiles of integers of fewer than the most rows take masks, too, which costs them some time: a kernel less
// to compile for each.
#if defined(__AVX512F__)
template <class T> constexpr bool kMasksOnly = static_cast<T>(0.5) == 0;
#else
template <class T> constexpr bool kMasksOnly = false;
#endif

template <class V, int R, int C, int rows> constexpr void fill(Kernel& kernel) {
  constexpr bool masked = R < rows && kMasksOnly<typename V::Result>;
  kernel.micro[R][C][0] = micro<V, R, C, masked>;
  kernel.micro[R][C][1] = micro<V, R, C, true>;
  if constexpr (C > 1) fill<V, R, C - 1, rows>(kernel);
  else if constexpr (R > 1) fill<V, R - 1, 2, rows>(kernel);
}
template <class V, int R, int C> constexpr void fill_strided(Kernel& kernel) {
  kernel.strided[R][C][0] = micro_strided<V, R, C, false>;
  kernel.strided[R][C][1] = micro_strided<V, R, C, true>;
  if constexpr (C > 1) fill_strided<V, R, C - 1>(kernel);
  else if constexpr (R > 1) fill_strided<V, R - 1, 2>(kernel);
}
template <class T, int R> constexpr void fill_complex(Kernel& kernel) {
  kernel.micro[R][1][0] = kernel.micro[R][1][1] = micro_complex<T, R>;
  if constexpr (R > 1) fill_complex<T, R - 1>(kernel);
}

// `From`: elements where they lie.
template <class V, int rows, class From> constexpr Kernel kernel_of(gemm::Pack pack_a, gemm::Pack pack_b, bool direct,
                                                                    int group) {
  using T = typename V::Result;
  Kernel kernel{rows,
                lanes_of<T>,
                2,
                group,
                sizeof(From),
                sizeof(typename V::Element),
                sizeof(T),
                direct,
                pack_a,
                pack_b,
                pack<From, T>,
                dots<From, T>,
                combination<From, T>};
  fill<V, rows, 2, rows>(kernel);
  return kernel;
}

template <class From, class T> constexpr Kernel plain() {
  constexpr bool real = static_cast<T>(0.5) != 0, same = std::is_same_v<From, T>;
  Kernel kernel = kernel_of<Plain<T>, real ? kRows : kIntegerRows, From>(pack<From, T>, pack<From, T>, same, 1);
  if constexpr (real && same) fill_strided<Plain<T>, kRows < gemm::kStridedRows ? kRows : gemm::kStridedRows, 2>(kernel);
  return kernel;
}

// Numbers of 16 bits need no conversion.
template <class V, class From, int rows = kGroupRows> constexpr Kernel pairs() {
  if constexpr (sizeof(From) == 2) return kernel_of<V, rows, From>(pack_pairs, pack_pairs, false, 2);
  else return kernel_of<V, rows, From>(pack_groups<From, int16_t, 2, 0>, pack_groups<From, int16_t, 2, 0>, false, 2);
}

#if defined(__AVX512F__)
template <class Dots, int R> constexpr void fill_tiles(Kernel& kernel) {
  for (int C = 1; C <= 2; ++C) kernel.micro[R][C][0] = kernel.micro[R][C][1] = micro_tiles<Dots, R>;
  if constexpr (R > 1) fill_tiles<Dots, R - 1>(kernel);
}

// `Bits`: unsigned integers of the size of elements.
template <class Dots, class From, class Bits> constexpr Kernel tiled(gemm::Pack pack_b) {
  using T = typename Dots::Result;
  Kernel kernel{kTiledRows,    lanes_of<T>, 2,          kTileBytes / sizeof(From), sizeof(From),
                kTileBytes,    sizeof(T),   false,      pack_tile_rows<Bits>,      pack_b,
                pack<From, T>, dots<From, T>, combination<From, T>};
  fill_tiles<Dots, kTiledRows>(kernel);
  kernel.release = release_tiles;
  return kernel;
}
#endif

template <class T> constexpr Kernel complex() {
  Kernel kernel{kComplexRows,
                lanes_of<T>,
                1,
                1,
                2 * sizeof(T),
                2 * sizeof(T),
                2 * sizeof(T),
                false,
                pack_twins<T>,
                pack_parts<T>,
                pack_twins<T>,
                dots_complex<T>,
                combination_complex<T>};
  fill_complex<T, kComplexRows>(kernel);
  return kernel;
}

}  // namespace

extern const gemm::Kernels gemm_kernels;
const gemm::Kernels gemm_kernels = {{{},
#if defined(__AVX2__)
                                     pairs<Pairs, int8_t>(),
                                     pairs<Pairs, int16_t>(),
#else
                                     plain<int8_t, uint32_t>(),
                                     plain<int16_t, uint32_t>(),
#endif
                                     plain<uint32_t, uint32_t>(),  // integers as wide as their sums need no sign
                                     plain<uint64_t, uint64_t>(),
#if defined(__AVX2__)
                                     pairs<Pairs, uint8_t>(),
#else
                                     plain<uint8_t, uint32_t>(),
#endif
                                     plain<uint16_t, uint32_t>(),
                                     plain<uint32_t, uint32_t>(),
                                     plain<uint64_t, uint64_t>(),
                                     plain<Float16, float>(),
                                     plain<Bfloat16, float>(),
                                     plain<float, float>(),
                                     plain<double, double>(),
                                     complex<float>(),
                                     complex<double>()}};

#if defined(__AVX512F__)
extern const gemm::MoreKernels gemm_more_kernels;
const gemm::MoreKernels gemm_more_kernels = {
    kernel_of<Quads, kGroupRows, int8_t>(pack_quads<0x80>, pack_quads<0>, false, 4),
    pairs<FusedPairs, uint8_t>(),
    pairs<FusedPairs, int16_t>(),
    pairs<BfloatPairs, Bfloat16, kRows>(),
    tiled<SignedTiles, int8_t, uint8_t>(pack_tile_words<uint8_t, pack_quads<0>>),
    tiled<UnsignedTiles, uint8_t, uint8_t>(pack_tile_words<uint8_t, pack_quads<0>>),
    tiled<BfloatTiles, Bfloat16, uint16_t>(pack_tile_words<uint16_t, pack_pairs>)};
#endif

}  // namespace nj::NJ_SIMD
