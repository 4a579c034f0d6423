// Products with one or a few vectors: which of the two orders suits the matrix, and the threads.
#include <algorithm>
#include <cstring>

#include "gemm.h"
#include "pool.h"
#include "threads.h"

namespace nj::gemm {

namespace {

constexpr int64_t kShared = 1 << 16;  // elements of the matrix in a part that is worth a thread
constexpr int64_t kMostParts = 256;
constexpr int64_t kRows = 16, kColumns = 1024;  // results of a part are a multiple of this: rows of the matrix, or columns

constexpr int64_t kFew = 4;           // rows at most of what is multiplied with a matrix that fits in no cache of a core
constexpr int64_t kFar = 4 << 20;     // bytes of such a matrix

// One result per row of a matrix, whose rows are `row` and columns `column` elements apart, k columns; for each of
// `vectors` vectors, if its rows aren't contiguous.
struct Rows {
  const Kernel& kernel;
  int64_t vectors, x_row, out_row;
  int64_t count, k;
  const char* x;
  int64_t x_step;
  const char* m;
  int64_t row, column;
  char* out;
  int64_t step;
  bool add;

  void part(int64_t begin, int64_t end, const char* vector) const {
    const char* from = m + begin * row * kernel.item;
    char* to = out + begin * step * kernel.item;
    if (column == 1) kernel.dots(end - begin, k, vector, from, row, to, step, add);
    else kernel.combination(vectors, end - begin, k, vector, x_row, from, column, to, out_row, step, add);
  }

  void run(const char* vector) const {
    const int64_t unit = column == 1 ? kRows : kColumns, units = (count + unit - 1) / unit;
    const int64_t parts = std::clamp<int64_t>(count * k / kShared, 1, std::min(units, kMostParts));
    struct Context {
      const Rows* rows;
      const char* vector;
      int64_t unit, units, parts;
    } context{this, vector, unit, units, parts};
    nj_parallel_for(parts, [](void* pointer, int64_t begin, int64_t end) {
      const auto& [rows, x, size, all, pieces] = *static_cast<Context*>(pointer);
      for (int64_t t = begin; t < end; ++t) {
        const int64_t first = t * all / pieces * size, last = std::min((t + 1) * all / pieces * size, rows->count);
        rows->part(first, last, x);
      }
    }, &context);
  }
};

bool few_rows(const Product& x, const Kernel& kernel) {
  return x.m <= kFew && x.n >= 2 * kColumns && x.k * x.n * kernel.item >= kFar && x.a_col == 1 && x.b_col == 1;
}

// Of a product with one row or one column.
Rows rows_of(const Product& x, const Kernel& kernel) {
  if (x.m == 1) return {kernel, 1, 0, 0, x.n, x.k, x.a, x.a_col, x.b, x.b_col, x.b_row, x.c, 1, x.add};
  return {kernel, 1, 0, 0, x.m, x.k, x.b, x.b_row, x.a, x.a_row, x.a_col, x.c, x.c_row, x.add};
}

}  // namespace

int64_t vector_bytes(const Product& x) {
  const Kernel& kernel = kernel_of(x.code);
  if (!kernel.dots) return -1;
  if (x.m > 1 && x.n > 1) return few_rows(x, kernel) ? 0 : -1;
  const Rows rows = rows_of(x, kernel);
  if (rows.row != 1 && rows.column != 1) return -1;
  return rows.x_step == 1 || rows.k == 1 ? 0 : rows.k * kernel.item;
}

bool multiply_vector(const Product& x) {
  const Kernel& kernel = kernel_of(x.code);
  const int64_t nbytes = vector_bytes(x);
  if (nbytes < 0) return false;
  if (x.m > 1 && x.n > 1) {
    Rows{kernel, x.m, x.a_row, x.c_row, x.n, x.k, x.a, 1, x.b, x.b_col, x.b_row, x.c, 1, x.add}.run(x.a);
    return true;
  }
  const Rows rows = rows_of(x, kernel);
  const Scratch copy(nbytes);  // of a vector whose elements lie apart
  if (copy.failed) return false;
  if (nbytes) kernel.pack_a(rows.x, 1, rows.x_step, 1, 1, rows.k, copy.data());
  rows.run(nbytes ? copy.data() : rows.x);
  return true;
}

}  // namespace nj::gemm
