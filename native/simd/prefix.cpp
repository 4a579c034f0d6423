// See prefix.h. Compiled once per instruction set; see vectors.h.
//
// A vector is combined with itself, shifted by 1, 2, 4 ... lanes (Hillis and Steele, "Data parallel algorithms", 1986). Four
// vectors go at a time, so that only one addition waits for the vectors before.
#include "kernels/prefix.h"

#include <type_traits>

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

namespace {

template <class T> struct AnyVector { typedef T type __attribute__((vector_size(NJ_VECTOR_BYTES))); };
template <class T> using Lanes = typename AnyVector<T>::type;
template <class T> constexpr int count_of = NJ_VECTOR_BYTES / static_cast<int>(sizeof(T));

struct Add {
  template <class V> static NJ_INLINE V of(V a, V b) { return a + b; }
};
struct Mul {
  template <class V> static NJ_INLINE V of(V a, V b) { return a * b; }
};
// NaN stays once it is there.
struct Max {
  template <class V> static NJ_INLINE V of(V a, V b) {
    V best = a > b ? a : b;
    return a != a ? a : best;
  }
};
struct Min {
  template <class V> static NJ_INLINE V of(V a, V b) {
    V best = a < b ? a : b;
    return a != a ? a : best;
  }
};

// Lanes shifted by h towards the end (backwards: the start); free ones come from `fill`.
template <bool backwards, int h, class V, std::size_t... I>
NJ_INLINE V shifted(V v, V fill, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I);
  if constexpr (backwards) return __builtin_shufflevector(v, fill, (static_cast<int>(I) + h)...);
  else
    return __builtin_shufflevector(v, fill, (static_cast<int>(I) >= h ? static_cast<int>(I) - h : n + static_cast<int>(I))...);
}
// The element of `words` lanes that comes last, everywhere.
template <bool backwards, int words, class V, std::size_t... I>
NJ_INLINE V last_of(V v, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(v, v, ((backwards ? 0 : n - words) + static_cast<int>(I) % words)...);
}

template <class T, class Op, int words, bool backwards> struct Run {
  using V = Lanes<T>;
  static constexpr int n = count_of<T>;
  static constexpr std::make_index_sequence<n> all{};

  static NJ_INLINE V get(const T* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  static NJ_INLINE void put(T* to, V v) { __builtin_memcpy(to, &v, sizeof v); }
  static NJ_INLINE V last(V v) { return last_of<backwards, words>(v, all); }

  template <int h> static NJ_INLINE V within(V v, V neutral) {
    if constexpr (h < n) return within<2 * h>(Op::of(shifted<backwards, h>(v, neutral, all), v), neutral);
    else return v;
  }

  // Where element k of the run, counted in the order of the scan, begins a vector.
  static NJ_INLINE int64_t at(int64_t size, int64_t k) { return backwards ? size - n - k : k; }

  // size: in words.
  template <bool writes> static void scan(const T* in, T* out, int64_t size, T nothing, const T* before, T* total) {
    V neutral, start;
    for (int k = 0; k < n; ++k) neutral[k] = nothing, start[k] = before[k % words];
    V sum = neutral;
    int64_t k = 0;
    for (; k + 4 * n <= size; k += 4 * n) {
      V a = within<words>(get(in + at(size, k)), neutral), b = within<words>(get(in + at(size, k + n)), neutral);
      V c = within<words>(get(in + at(size, k + 2 * n)), neutral), d = within<words>(get(in + at(size, k + 3 * n)), neutral);
      const V ab = Op::of(last(a), last(b)), cd = Op::of(last(c), last(d));
      if constexpr (writes) {
        b = Op::of(last(a), b);
        d = Op::of(Op::of(ab, last(c)), d);
        c = Op::of(ab, c);
        put(out + at(size, k), Op::of(start, Op::of(sum, a)));
        put(out + at(size, k + n), Op::of(start, Op::of(sum, b)));
        put(out + at(size, k + 2 * n), Op::of(start, Op::of(sum, c)));
        put(out + at(size, k + 3 * n), Op::of(start, Op::of(sum, d)));
      }
      sum = Op::of(sum, Op::of(ab, cd));
    }
    T tail[words];
    for (int w = 0; w < words; ++w) tail[w] = sum[w];
    for (; k < size; k += words)
      for (int w = 0; w < words; ++w) {
        const int64_t place = (backwards ? size - words - k : k) + w;
        tail[w] = Op::of(tail[w], in[place]);
        if constexpr (writes) out[place] = Op::of(before[w], tail[w]);
      }
    for (int w = 0; w < words; ++w) total[w] = Op::of(before[w], tail[w]);
  }
};

template <class T, class Op, int words>
void scan(const void* in, void* out, int64_t n, bool backwards, const void* neutral, const void* before, void* total) {
  const auto *from = static_cast<const T*>(in), *first = static_cast<const T*>(before);
  const T nothing = *static_cast<const T*>(neutral);
  T start[words], *to = static_cast<T*>(out), *end = static_cast<T*>(total);
  for (int w = 0; w < words; ++w) start[w] = first[w];
  if (backwards && out) return Run<T, Op, words, true>::template scan<true>(from, to, n * words, nothing, start, end);
  if constexpr (static_cast<T>(0.5) != 0)  // the order does not matter to integers
    if (backwards) return Run<T, Op, words, true>::template scan<false>(from, to, n * words, nothing, start, end);
  if (out) return Run<T, Op, words, false>::template scan<true>(from, to, n * words, nothing, start, end);
  Run<T, Op, words, false>::template scan<false>(from, to, n * words, nothing, start, end);
}

}  // namespace

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> using Same = T;

// By kind, then code: no bools and halves; complex numbers are only added. `Signed<T>`: what integers are computed as.
#define NJ_SCANS(Op, Signed, wide32, wide64) \
  {nullptr,                                  \
   scan<Signed<int8_t>, Op, 1>,              \
   scan<Signed<int16_t>, Op, 1>,             \
   scan<Signed<int32_t>, Op, 1>,             \
   scan<Signed<int64_t>, Op, 1>,             \
   scan<uint8_t, Op, 1>,                     \
   scan<uint16_t, Op, 1>,                    \
   scan<uint32_t, Op, 1>,                    \
   scan<uint64_t, Op, 1>,                    \
   nullptr,                                  \
   nullptr,                                  \
   scan<float, Op, 1>,                       \
   scan<double, Op, 1>,                      \
   wide32,                                   \
   wide64}
extern const prefix::Scan prefix_scans[prefix::kind_count][kCommonCodes];
const prefix::Scan prefix_scans[prefix::kind_count][kCommonCodes] = {
    NJ_SCANS(Add, Unsigned, (scan<float, Add, 2>), (scan<double, Add, 2>)), NJ_SCANS(Mul, Unsigned, nullptr, nullptr),
    NJ_SCANS(Max, Same, nullptr, nullptr), NJ_SCANS(Min, Same, nullptr, nullptr)};

}  // namespace nj::NJ_SIMD
