// See transpose.h. Compiled once per instruction set; see vectors.h.
#include "kernels/copy/transpose.h"

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

namespace {

template <class T>
void turn_elements(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      __builtin_memcpy(to + r * to_step + c * sizeof(T), from + c * from_step + r * sizeof(T), sizeof(T));
}

template <class T> void turn(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows, int64_t columns) {
  constexpr int64_t n = lanes_of<T>, item = sizeof(T);
  const int64_t whole_rows = rows / n * n, whole_columns = columns / n * n;
  for (int64_t r = 0; r < whole_rows; r += n)
    for (int64_t c = 0; c < whole_columns; c += n) {
      Vector<T> v[n];
#pragma GCC unroll 16
      for (int k = 0; k < n; ++k) v[k] = load(reinterpret_cast<const T*>(from + (c + k) * from_step + r * item));
      transpose<T>(v);
#pragma GCC unroll 16
      for (int k = 0; k < n; ++k) store(reinterpret_cast<T*>(to + (r + k) * to_step + c * item), v[k]);
    }
  turn_elements<T>(from + whole_rows * item, from_step, to + whole_rows * to_step, to_step, rows - whole_rows, columns);
  turn_elements<T>(from + whole_columns * from_step, from_step, to + whole_columns * item, to_step, whole_rows,
                   columns - whole_columns);
}

struct Wide { uint64_t halves[2]; };

}  // namespace

extern const squares::Turn square_turns[5];
const squares::Turn square_turns[5] = {turn<uint8_t>, turn<uint16_t>, turn<float>, turn<double>, turn_elements<Wide>};

}  // namespace nj::NJ_SIMD
