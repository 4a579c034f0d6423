// See kernels/sort/buckets.h. Compiled once per instruction set; see vectors.h.
#include "kernels/sort/buckets.h"

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

namespace {

template <class T, class Word, class Bytes>
NJ_INLINE void ids_of_vector(const char* from, const char* splitters, int64_t num_splitters, uint8_t* ids) {
  typedef T Numbers __attribute__((vector_size(NJ_VECTOR_BYTES)));
  typedef Word Words __attribute__((vector_size(NJ_VECTOR_BYTES)));
  Numbers x;
  __builtin_memcpy(&x, from, sizeof x);
  Words below = Words{} + static_cast<Word>(num_splitters);  // less one for each splitter that is greater; NaNs are in the last
  for (int64_t k = 0; k < num_splitters; ++k) {
    T splitter;
    __builtin_memcpy(&splitter, splitters + k * static_cast<int64_t>(sizeof(T)), sizeof splitter);
    below += x < splitter - Numbers{};
  }
  const Bytes bytes = __builtin_convertvector(below, Bytes);
  __builtin_memcpy(ids, &bytes, sizeof bytes);
}

// Word: a signed integer as wide as T.
template <class T, class Word> void bucket_ids(const char* from, int64_t n, const char* splitters, int64_t num, uint8_t* ids) {
  constexpr int64_t lanes = NJ_VECTOR_BYTES / sizeof(T);
  typedef uint8_t Bytes __attribute__((vector_size(lanes)));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    ids_of_vector<T, Word, Bytes>(from + i * static_cast<int64_t>(sizeof(T)), splitters, num, ids + i);
  for (; i < n; ++i) {
    T x, splitter;
    __builtin_memcpy(&x, from + i * static_cast<int64_t>(sizeof(T)), sizeof x);
    int64_t id = num;
    for (int64_t k = 0; k < num; ++k) {
      __builtin_memcpy(&splitter, splitters + k * static_cast<int64_t>(sizeof(T)), sizeof splitter);
      id -= x < splitter;
    }
    ids[i] = static_cast<uint8_t>(id);
  }
}

}  // namespace

// int32, int64, uint32, uint64, float32, float64
extern const sorting::BucketIds bucket_id_loops[6];
const sorting::BucketIds bucket_id_loops[6] = {bucket_ids<int32_t, int32_t>,  bucket_ids<int64_t, int64_t>,
                                               bucket_ids<uint32_t, int32_t>, bucket_ids<uint64_t, int64_t>,
                                               bucket_ids<float, int32_t>,    bucket_ids<double, int64_t>};

}  // namespace nj::NJ_SIMD
