// Products of matrices: C = A B or C += A B. No Python in here.
//
// The loops are those of K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), and of
// F. Van Zee and R. van de Geijn, "BLIS" (2015): panels of B and blocks of A are copied into the order in which a
// micro-kernel reads them, which computes a small tile of C in registers.
#pragma once
#include <cstdint>

#include "kernels/dtypes.h"
#include "kernels/gemm/memory.h"

namespace nj::gemm {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What is done with parts of C as soon as they are there, in any order and any thread: rows row ... row_end of columns
// column ... column_end. Rows are counted through all products of a batch; element (i, j) is at c + (i * n + j) * bytes.
struct Epilogue {
  void (*run)(void* context, char* c, int64_t row, int64_t row_end, int64_t column, int64_t column_end);
  void* context;
  int64_t first_row;  // of this product
  bool whole;         // rows are handed over whole
};

// What becomes of C: the product, C + product or C - product.
enum class Into : int { set, add, subtract };

// C (m x n, rows `c_row` apart, columns side by side) =, += or -= A (m x k) B (k x n). Strides count elements and may be any.
// With an epilogue that takes whole rows c may be null: C is only there as long as the epilogue runs.
struct Product {
  DtypeCode code;
  int64_t m, n, k;
  const char* a;
  int64_t a_row, a_col;
  const char* b;
  int64_t b_row, b_col;
  char* c;
  int64_t c_row;
  Into into;  // only multiply_alone subtracts
  const Epilogue* epilogue = nullptr;
};

constexpr int64_t kMostRows = 32, kMostVectors = 2;
constexpr int64_t kTileRows = 16;   // of a register of AMX: slivers of A are best a multiple of so many
constexpr int64_t kStridedRows = 8;  // of a tile at most, if A is read where it lies

// Copies `count` x k elements, strides `si` and `sp`, to out[p][0 ... height), the rest of each row zeros.
using Pack = void (*)(const char* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out);

// One tile of C, from `steps` columns of a sliver of A, which are a_step elements apart (packed: the tile's rows), and rows of
// B, which are `b_step` bytes apart; `columns` of the tile are there. Strided ones take rows of A, a_step elements apart, that are
// contiguous. Tiles of AMX and complex ones are packed.
using Micro = void (*)(int64_t steps, const char* a, int64_t a_step, const char* b, int64_t b_step, char* c, int64_t c_row,
                       int64_t columns, Into into);

// For each of `vectors` rows of x, which are contiguous and packed, x_row elements apart: `count` results, `step` apart, the
// sums of x[p] m[i][p] (dots) or x[p] m[p][i] (combinations) over k elements; rows of m are contiguous, `row` elements apart.
using Vectors = void (*)(int64_t vectors, int64_t count, int64_t k, const char* x, int64_t x_row, const char* m, int64_t row,
                         char* out, int64_t out_row, int64_t step, bool add);
// Combinations add up to `sums`, kSumBytes for each vector, twice that if they are complex.
using Combination = void (*)(int64_t vectors, int64_t count, int64_t k, const char* x, int64_t x_row, const char* m,
                             int64_t row, char* out, int64_t out_row, int64_t step, bool add, char* sums);
constexpr int64_t kMostVectorRows = 16;  // vectors of one call
constexpr int64_t kSumBytes = 4096;      // of a vector of sums, which are kept in the cache
static_assert(2 * kMostVectorRows * kSumBytes <= kSumsBytes, "sums of all vectors fit");

// How products of one dtype are computed on a kind of CPU.
struct Kernel {
  int64_t rows, lanes, vectors;  // the largest tile: rows x (lanes * vectors)
  int64_t group;                 // this many neighbours along k share one step
  int64_t item;                  // bytes of an element of A or B where it lies
  int64_t unit;                  // bytes of a step of one row or column, packed
  int64_t result;                // bytes of an element of C
  bool direct;                   // B may be read where it lies, if its columns are side by side
  Pack pack_a, pack_b, pack_x;   // pack_x: of vectors, in the dtype of C
  Vectors dots;
  Combination combination;
  Micro micro[kMostRows + 1][kMostVectors + 1][2] = {};  // by rows, vectors, and whether columns are missing
  Micro strided[kStridedRows + 1][kMostVectors + 1][2] = {};  // null where A has to be packed
  void (*release)() = nullptr;  // what a thread calls after it has used micro-kernels; null: nothing

  bool tiled() const { return release != nullptr; }  // by tiles of AMX, see native/simd/gemm_tiles.h
  int64_t columns() const { return lanes * vectors; }
  int64_t strided_rows() const { return rows < kStridedRows ? rows : kStridedRows; }  // of a tile, if A is read where it lies
  int64_t steps(int64_t k) const { return (k + group - 1) / group; }
};

// By code; none of bools. The others: integers on CPUs with AVX512-VNNI, bfloat16 on those with AVX512-BF16, too; tiles on
// those with AMX.
struct Kernels { Kernel of[kCommonCodes]; };
struct MoreKernels { Kernel int8, uint8, int16, bfloat16, int8_tiles, uint8_tiles, bfloat16_tiles; };

// The kernel for this CPU, and products with B of k x n.
const Kernel& kernel_of(DtypeCode code, int64_t n, int64_t k);

// Releases what micro-kernels have set up, at the end of a block.
class Released {
 public:
  explicit Released(const Kernel& kernel) : release_(kernel.release) {}
  ~Released() {
    if (release_) release_();
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  void (*const release_)();
};

// One whose steps are of one neighbour along k each, for floats and complex numbers: packed rows may be read from any step on.
const Kernel& ungrouped_kernel_of(DtypeCode code);

// Shared among threads where that pays; the same, bit by bit, for any number of threads.
void multiply(const Product& product);

// The same by this thread alone, without memory of the pool.
void multiply_alone(const Product& product);

// The same of real floats, with rows of A contiguous, for panels of B that the caller has packed: each `panel_columns` wide, or
// as many vectors as the last one needs, one row after the other, and so many bytes apart. b of the product is not read.
void multiply_by_panels(const Product& product, const char* panels, int64_t panel_bytes);
inline int64_t panel_columns(DtypeCode code) { return ungrouped_kernel_of(code).columns(); }

// Products with one row or one column, or of a few rows with a large matrix, at the speed of memory; false for others.
bool multiply_vector(const Product& product);

// Bytes of memory that multiply_vector takes; -1 for products that it leaves to others.
int64_t vector_bytes(const Product& product);

}  // namespace nj::gemm
