// Products with one or a few vectors: which of the two orders suits the matrix, and the threads.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm.h"
#include "runtime/memory/blocks.h"
#include "runtime/threads/parallel.h"

namespace nj::gemm {

namespace {

constexpr int64_t kShared = 1 << 16;  // elements of the matrix in a part that is worth a thread
constexpr int64_t kMostParts = 256;
constexpr int64_t kRows = 16, kColumns = 1024;  // results of a part are a multiple of this: rows of the matrix, or columns

// Of a matrix that fits in no cache of a core: the same number everywhere, as the two ways add up in different orders.
constexpr int64_t kFar = 4 << 20;     // bytes
constexpr int64_t kLong = 512;        // elements of its rows, if results are sums along them

// One result per row of a matrix, whose rows are `row` and columns `column` elements apart, k columns; for each of
// `vectors` vectors.
struct Rows {
  const Kernel& kernel;
  int64_t vectors, x_row, out_row;
  int64_t count, k;
  const char* x;
  int64_t x_step;     // between its elements
  const char* m;
  int64_t row, column;
  char* out;
  int64_t step;
  bool add;

  // Whether the vectors can be read where they lie.
  bool packed() const { return kernel.item == kernel.result && (x_step == 1 || k == 1); }

  void pack(char* to) const {
    for (int64_t i = 0; i < vectors; ++i)
      kernel.pack_x(x + i * x_row * kernel.item, x_step, 0, k, k, 1, to + i * k * kernel.result);
  }

  void part(int64_t begin, int64_t end, const char* vector, int64_t vector_row) const {
    const char* from = m + begin * row * kernel.item;
    char* to = out + begin * step * kernel.result;
    if (column == 1) return kernel.dots(vectors, end - begin, k, vector, vector_row, from, row, to, out_row, step, add);
    const Lent sums(Piece::sums);
    kernel.combination(vectors, end - begin, k, vector, vector_row, from, column, to, out_row, step, add, sums.data());
  }

  // vector: the packed vectors, vector_row elements apart.
  void run(const char* vector, int64_t vector_row) const {
    const int64_t unit = column == 1 ? kRows : kColumns, units = (count + unit - 1) / unit;
    const int64_t parts = std::clamp<int64_t>(count * k / kShared, 1, std::min(units, kMostParts));
    parallel_for(parts, [&](int64_t t) {
      part(t * units / parts * unit, std::min((t + 1) * units / parts * unit, count), vector, vector_row);
    });
  }
};

bool few_rows(const Product& x, const Kernel& kernel) {
  if (x.m > kMostVectorRows || x.k * x.n * kernel.item < kFar) return false;
  return (x.b_col == 1 && x.n >= 2 * kColumns) || (x.b_row == 1 && x.k >= kLong);
}

Rows rows_of(const Product& x, const Kernel& kernel) {
  if (x.n > 1 || x.m == 1)
    return {kernel, x.m, x.a_row, x.c_row, x.n, x.k, x.a, x.a_col, x.b, x.b_col, x.b_row, x.c, 1, x.into == Into::add};
  return {kernel, 1, 0, 0, x.m, x.k, x.b, x.b_row, x.a, x.a_row, x.a_col, x.c, x.c_row, x.into == Into::add};
}

}  // namespace

int64_t vector_bytes(const Product& x) {
  const Kernel& kernel = kernel_of(x.code, x.n, x.k);
  if (x.m > 1 && x.n > 1 && !few_rows(x, kernel)) return -1;
  const Rows rows = rows_of(x, kernel);
  if (rows.row != 1 && rows.column != 1) return -1;
  return rows.packed() ? 0 : rows.vectors * rows.k * kernel.result;
}

bool multiply_vector(const Product& x) {
  const int64_t nbytes = vector_bytes(x);
  if (nbytes < 0) return false;
  const Rows rows = rows_of(x, kernel_of(x.code, x.n, x.k));
  const Scratch copy(nbytes);
  if (copy.failed) return false;
  if (nbytes) rows.pack(copy.data());
  rows.run(nbytes ? copy.data() : rows.x, nbytes ? rows.k : rows.x_row);
  return true;
}

}  // namespace nj::gemm
