// Blocks, threads and the choice of the kernel for products of matrices.
#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/registry.h"
#include "runtime/memory/blocks.h"
#include "runtime/process/caches.h"
#include "simd/choice.h"
#include "runtime/threads/parallel.h"

namespace nj {
NJ_EACH_SIMD(extern const gemm::Kernels gemm_kernels)
#ifdef NJ_SIMD_X86
namespace avx512 { extern const gemm::MoreKernels gemm_more_kernels; }
#endif
}  // namespace nj

namespace nj::gemm {

namespace {

constexpr int64_t kDepth = 512;              // of a block of A and B along k: sums are made block by block
constexpr int64_t kDepthOfTiles = 256;       // for tiles of AMX: a sliver of A and a panel of B stay in the first cache together
constexpr int64_t kSlivers = 6;              // of a packed block of A: rows enough for what a panel of B costs
constexpr int64_t kTiles = 12;               // of C at least, for threads that are not equally fast
constexpr int64_t kRun = 8;                  // rows that are packed of one panel after the other: each is on other pages
constexpr int64_t kGroup = 8;                // panels of B that are packed side by side
constexpr int64_t kShared = 1 << 18;         // multiply-adds of 4 bytes of a part that is worth a thread
constexpr int64_t kLarge = 1 << 25;          // multiply-adds of a product of a batch that all threads share
constexpr int64_t kEach = 1 << 15;           // multiply-adds in the time that a product of a batch takes beside them
constexpr int64_t kMostParts = 64;
constexpr int64_t kFinished = 1 << 14;       // elements of C for which an epilogue is worth a thread
constexpr int64_t kDirectRows = 64;          // with so few rows of A, B is read where it lies,
constexpr int64_t kCrowdedRows = 14;         // with so few where its rows lie on the same sets of the first cache
constexpr int64_t kNarrowRows = 64;          // with so many rows and few columns A is read where it lies
constexpr int64_t kNarrowPanels = 4;         // of B, that many are few columns
constexpr int64_t kUnpackedRows = 128;       // with so few rows,
constexpr int64_t kUnpackedColumns = 96;     // or so few columns,
constexpr int64_t kUnpackedBytes = 512 * 1024;  // and so few bytes of B, nothing is packed if tiles have their full height;
constexpr int64_t kMediumRows = 512;         // otherwise with so few rows,
constexpr int64_t kMediumColumns = 128;      // or so few columns,
constexpr int64_t kSameSets = 4096;          // and rows that are not a multiple of so many bytes apart
constexpr int64_t kFewBlocks = 8;            // and of equal rows, where there are so few, though tiles are lower then
constexpr int64_t kPanelsOfThread = 2;       // of B at least, that a thread packs for itself
constexpr int64_t kPanelsOfGroup = 16;       // of B, for which rows of A are packed, unless all threads share them
constexpr int64_t kSmall = kPartBytes;       // bytes of C at most, if parts of its sums are added up side by side;
constexpr int64_t kLongSum = 2048;           // sums are so long at least,
constexpr int64_t kSlender = 8;              // so many times the rows and columns,
constexpr int64_t kLongBytes = 256 * 1024;   // of operands of so many bytes,
constexpr int64_t kSumParts = 16;            // and in so many parts at most
constexpr int64_t kPassingBytes = 128 * 1024;  // of rows of a C that is null
constexpr int64_t kDepthForTiles = 32, kColumnsForTiles = 16;  // of B at least, for tiles of AMX
constexpr int64_t kEven = 4;                 // blocks of rows are about a multiple of this many, so that threads end together

// Blocks by the sizes of caches: parts of them, as other data passes through. None changes the order of a sum, which kDepth and
// the constants from kSmall to kSumParts decide.
int64_t share_bytes() { return caches().last_level / 4; }  // of packed panels of B for all threads; see gemm_epilogues.py
int64_t tile_bytes() { return caches().l2 / 4; }  // of a tile of C
int64_t block_bytes() { return std::min(kBlockBytes, caches().l2 / 4); }  // of a packed block of A

// Of rows of a C that is null, if a few fit. For tiles of AMX, which are done with a panel of B sooner than it comes from the
// last cache, as many as can be.
int64_t passing_bytes(const Kernel& kernel) {
  return kernel.tiled() ? std::min(kLinesBytes, caches().l2 / 2) : std::min(kPassingBytes, caches().l2 / 8);
}

// body(part) for each, shared among threads; by this thread alone where it must not wait for others (see Lent).
template <class Body>
void in_parts(int64_t parts, Body body, bool alone = false) {
  if (!alone) return parallel_for(parts, body);
  for (int64_t k = 0; k < parts; ++k) body(k);
}

// Whether rows so many elements apart lie on many sets of the first cache.
bool spread(const Kernel& kernel, int64_t row) { return row * kernel.item % kSameSets != 0; }

// A product, its kernel, and how it is cut.
struct Plan {
  const Product& x;
  const Kernel& kernel;
  int64_t depth;  // of blocks along k
  int64_t height;  // of slivers of A
  int64_t block_rows;  // of blocks of A, a multiple of height
  bool direct;

  explicit Plan(const Product& product) : x(product), kernel(kernel_of(product.code, product.n, product.k)) {
    const int64_t most = kernel.tiled() ? kDepthOfTiles : kDepth;
    depth = ceil_div(ceil_div(x.k, ceil_div(x.k, most)), kernel.group) * kernel.group;
    const int64_t fit = block_bytes() / (kernel.rows * kernel.steps(depth) * kernel.unit), needed = ceil_div(x.m, kernel.rows);
    const int64_t most_slivers = std::clamp<int64_t>(fit, 1, x.m <= kDirectRows ? needed : kSlivers);
    const int64_t blocks = ceil_div(needed, most_slivers);
    const int64_t even = ceil_div(blocks, kEven) * kEven;
    const int64_t slivers = blocks > kEven ? ceil_div(needed, even) : most_slivers;
    height = ceil_div(x.m, blocks > kEven && even <= kFewBlocks ? even * slivers : needed);
    if (kernel.tiled()) height = ceil_div(height, kTileRows) * kTileRows;
    block_rows = slivers * height;
    direct = kernel.direct && x.b_col == 1 && x.m <= (spread(kernel, x.b_row) ? kDirectRows : kCrowdedRows);
  }

  // Parts of `rows` rows along k that are worth a thread, not bounded.
  int64_t parts_of(int64_t rows, int64_t k) const { return rows * x.n * k * kernel.result / 4 / kShared; }

  // Whether threads share the columns only.
  bool flat() const { return direct || x.m <= block_rows || parts_of(x.m, x.k) < 2; }

  // Rows i ... i + rows of A at depth p ... p + k, sliver by sliver.
  void pack_a(int64_t i, int64_t rows, int64_t p, int64_t k, char* out) const {
    const int64_t run = x.a_row == 1 ? std::max(kRun, kernel.group) : k;
    for (int64_t q = 0; q < k; q += run) {
      const int64_t there = std::min(run, k - q);
      for (int64_t first = 0; first < rows; first += height) {
        const int64_t count = std::min(height, rows - first);
        kernel.pack_a(x.a + ((i + first) * x.a_row + (p + q) * x.a_col) * kernel.item, x.a_row, x.a_col, count, count, there,
                      out + (first * kernel.steps(k) + count * kernel.steps(q)) * kernel.unit);
      }
    }
  }

  // `panels` panels of B from column j on at depth p ... p + k, `distance` bytes apart.
  void pack_b(int64_t j, int64_t panels, int64_t p, int64_t k, char* out, int64_t distance) const {
    const int64_t run = x.b_col == 1 ? std::max(kRun, kernel.group) : k;
    for (int64_t q = 0; q < k; q += run) {
      const int64_t there = std::min(run, k - q);
      for (int64_t t = 0; t < panels; ++t) {
        const int64_t column = j + t * kernel.columns(), count = std::min(kernel.columns(), x.n - column);
        const int64_t width = ceil_div(count, kernel.lanes) * kernel.lanes;
        kernel.pack_b(x.b + ((p + q) * x.b_row + column * x.b_col) * kernel.item, x.b_col, x.b_row, count, width, there,
                      out + t * distance + width * kernel.steps(q) * kernel.unit);
      }
    }
  }

  // Rows of one panel of C, which starts at `c`; `b` holds the panel of B, packed or where it lies, at depth p ... p + k.
  void panel(char* c, int64_t rows, int64_t j, int64_t p, int64_t k, const char* a, const char* b, int64_t b_step) const {
    const int64_t columns = std::min(kernel.columns(), x.n - j), vectors = ceil_div(columns, kernel.lanes);
    const int64_t steps = kernel.steps(k), missing = columns < vectors * kernel.lanes;
    for (int64_t first = 0; first < rows; first += height) {
      const int64_t count = std::min(height, rows - first);
      kernel.micro[count][vectors][missing](steps, a, count, b, b_step, c, x.c_row * kernel.result, columns, into_at(p));
      a += count * steps * kernel.unit;
      c += count * x.c_row * kernel.result;
    }
  }

  // What becomes of C at depth p.
  Into into_at(int64_t p) const { return p > 0 && x.into == Into::set ? Into::add : x.into; }

  // Where element (i, j) of C is.
  char* place(int64_t i, int64_t j) const { return x.c + (i * x.c_row + j) * kernel.result; }

  // Hands over rows i ... i_end of columns j ... j_end, whose first row starts at `line`.
  void finish(char* line, int64_t i, int64_t i_end, int64_t j, int64_t j_end) const {
    const int64_t above = x.epilogue->first_row;
    x.epilogue->run(x.epilogue->context, line - (above + i) * x.n * kernel.result, above + i, above + i_end, j, j_end);
  }

  // Hands over all of C.
  void finish_all() const {
    const int64_t parts = std::clamp<int64_t>(x.m * x.n / kFinished, 1, std::min(x.m, kMostParts));
    in_parts(parts, [&](int64_t part) {
      const int64_t i = part * x.m / parts, end = (part + 1) * x.m / parts;
      finish(place(i, 0), i, end, 0, x.n);
    });
  }

  int64_t panel_step(int64_t j) const {
    return ceil_div(std::min(kernel.columns(), x.n - j), kernel.lanes) * kernel.lanes * kernel.unit;
  }
};

// Few rows: the threads share the columns, if not `alone`; each packs the panels of B that it needs.
void multiply_flat(const Plan& plan, bool alone = false) {
  const Product& x = plan.x;
  const Kernel& kernel = plan.kernel;
  const Lent lent(Piece::block);
  char* const block = lent.data();
  const int64_t panels = ceil_div(x.n, kernel.columns());
  const bool by_parts = x.epilogue && !x.epilogue->whole;
  for (int64_t p = 0; p < x.k; p += plan.depth) {
    const int64_t k = std::min(plan.depth, x.k - p);
    for (int64_t i = 0; i < x.m; i += plan.block_rows) {
      const int64_t rows = std::min(plan.block_rows, x.m - i);
      plan.pack_a(i, rows, p, k, block);
      const int64_t parts = std::clamp<int64_t>(plan.parts_of(rows, k), 1, std::min(panels, kMostParts));
      in_parts(
          parts,
          [&](int64_t part) {
            const Lent panel(Piece::packed);
            const Released after(kernel);
            char* const packed = panel.data();
            const int64_t begin = part * panels / parts, end = (part + 1) * panels / parts;
            for (int64_t q = begin; q < end; ++q) {
              const int64_t j = q * kernel.columns();
              if (plan.direct) {
                plan.panel(plan.place(i, j), rows, j, p, k, block, x.b + (p * x.b_row + j) * kernel.item,
                           x.b_row * kernel.item);
              } else {
                plan.pack_b(j, 1, p, k, packed, 0);
                plan.panel(plan.place(i, j), rows, j, p, k, block, packed, plan.panel_step(j));
              }
            }
            if (by_parts && p + k == x.k)
              plan.finish(plan.place(i, 0), i, i + rows, begin * kernel.columns(), std::min(x.n, end * kernel.columns()));
          },
          alone || lent.scarce());
    }
  }
  if (x.epilogue && x.epilogue->whole) plan.finish_all();
}

// A is read where it lies: rows in tiles of as many as the kernel can address, or columns. Panels of B, too, or packed side by
// side.
class Strided {
 public:
  // packed: the panels of B, each of `panel_bytes`; null: B is read where it lies.
  Strided(const Plan& of, const char* packed, int64_t panel_bytes)
      : plan_(of), x_(of.x), kernel_(of.kernel), packed_(packed), panel_bytes_(panel_bytes) {}

  // Threads share the rows, and the columns where there are few rows; not if `alone`.
  void run(bool alone) const {
    const int64_t tiles = ceil_div(x_.m, height_), parts = std::clamp<int64_t>(plan_.parts_of(x_.m, x_.k), 1, kMostParts);
    const int64_t blocks = ceil_div(ceil_div(tiles, kSlivers), kEven) * kEven;
    const int64_t across = std::min(panels_, ceil_div(parts, tiles)), down = std::min({tiles, parts, blocks});
    const bool together = x_.epilogue && x_.epilogue->whole && across > 1;
    in_parts(
        down * across,
        [&](int64_t part) {
          const int64_t d = part / across, r = part % across;
          const int64_t begin = d * tiles / down * height_, end = std::min(x_.m, (d + 1) * tiles / down * height_);
          const int64_t first = r * panels_ / across, last = (r + 1) * panels_ / across;
          block(begin, end, first, last);
          if (x_.epilogue && !together)
            plan_.finish(plan_.place(begin, 0), begin, end, first * kernel_.columns(), std::min(x_.n, last * kernel_.columns()));
        },
        alone);
    if (together) plan_.finish_all();
  }

  // Rows i ... end of panel q at depth p; packed: where B's part of that is, if not where it lies.
  void panel(int64_t q, int64_t p, int64_t i, int64_t end, const char* packed) const {
    const int64_t j = q * kernel_.columns(), columns = std::min(kernel_.columns(), x_.n - j);
    const int64_t vectors = ceil_div(columns, kernel_.lanes), missing = columns < vectors * kernel_.lanes;
    const int64_t k = std::min(plan_.depth, x_.k - p), step = packed ? packed_step(q) : x_.b_row * kernel_.item;
    const char* const b = packed ? packed : x_.b + (p * x_.b_row + j) * kernel_.item;
    for (; i < end; i += height_) {
      const int64_t rows = std::min(height_, end - i);
      const Micro micro = lines_ ? kernel_.micro[rows][vectors][missing] : kernel_.strided[rows][vectors][missing];
      micro(k, x_.a + (i * x_.a_row + p * x_.a_col) * kernel_.item, lines_ ? x_.a_col : x_.a_row, b, step, plan_.place(i, j),
            x_.c_row * kernel_.result, columns, plan_.into_at(p));
    }
  }

 private:
  // Rows i ... end of panels q ... last.
  void block(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    for (int64_t p = 0; p < x_.k; p += plan_.depth)
      for (int64_t i = begin; i < end; i += kSlivers * height_)
        for (int64_t q = first; q < last; ++q) {
          const char* const packed = packed_ ? packed_ + q * panel_bytes_ + p * packed_step(q) : nullptr;
          panel(q, p, i, std::min(end, i + kSlivers * height_), packed);
        }
  }

  int64_t packed_step(int64_t q) const { return plan_.panel_step(q * kernel_.columns()); }

  const Plan& plan_;
  const Product& x_;
  const Kernel& kernel_;
  const char* const packed_;
  const int64_t panel_bytes_, panels_ = ceil_div(x_.n, kernel_.columns());
  const bool lines_ = x_.a_col != 1;  // columns of A are contiguous
  const int64_t height_ = lines_ ? kernel_.rows : kernel_.strided_rows();
};

bool has_strided(const Plan& plan) { return plan.kernel.strided[1][1][0] && plan.x.a_col == 1; }
// Whether columns of A can be read where they lie.
bool has_lines(const Plan& plan) { return plan.kernel.strided[1][1][0] && plan.x.a_row == 1; }

// Whether tiles have as many rows if A is read where it lies as if it is packed.
bool full_height(const Kernel& kernel) { return kernel.strided_rows() == kernel.rows; }

// Few columns: B is packed at once, and A is read where it lies. Of A nothing is read twice if there is one panel of B. In
// tiles of full height a few panels are still faster than a copy of A.
bool narrow(const Plan& plan) {
  const Product& x = plan.x;
  if (!has_strided(plan) || x.m < kNarrowRows || x.k > kDepth) return false;
  const int64_t panels = ceil_div(x.n, plan.kernel.columns()), most = full_height(plan.kernel) ? kNarrowPanels : 1;
  return panels <= most && panels * plan.panel_step(0) * x.k <= kPanelBytes;
}

void multiply_narrow(const Plan& plan, bool alone = false) {
  const Lent lent(Piece::packed);
  const int64_t panels = ceil_div(plan.x.n, plan.kernel.columns()), panel_bytes = plan.panel_step(0) * plan.x.k;
  plan.pack_b(0, panels, 0, plan.x.k, lent.data(), panel_bytes);
  Strided(plan, lent.data(), panel_bytes).run(alone || lent.scarce());
}

// A matrix B that the second cache holds, few columns, or few enough rows: copies of A and B would cost more than they save.
bool unpacked(const Plan& plan) {
  const Product& x = plan.x;
  if (x.b_col != 1) return false;
  const int64_t nbytes = x.k * x.n * plan.kernel.item;
  if (!has_strided(plan)) return has_lines(plan) && std::max(x.m * x.k * plan.kernel.item, nbytes) <= caches().l2 / 8;
  if (full_height(plan.kernel)) return (x.m <= kUnpackedRows || x.n <= kUnpackedColumns) && nbytes <= kUnpackedBytes;
  return (x.m <= kMediumRows || x.n <= kMediumColumns) && nbytes <= caches().l2 / 4 && spread(plan.kernel, x.b_row);
}

void multiply_unpacked(const Plan& plan, bool alone = false) { Strided(plan, nullptr, 0).run(alone); }

// A matrix A that most of the second cache holds is read where it lies, and each thread packs the panels of B that it needs:
// nothing that one core has written is read by another one. Of the panels that are too few for all threads each is cut into
// rows.
class Columns {
 public:
  explicit Columns(const Plan& of) : plan_(of), panels_(ceil_div(of.x.n, of.kernel.columns())) {}

  bool suits() const {
    const Product& x = plan_.x;
    return has_strided(plan_) && x.m >= kNarrowRows && x.m * x.k * plan_.kernel.item <= caches().l2 / 4 * 3 &&
           spread(plan_.kernel, x.a_row) && panels_ >= kPanelsOfThread * thread_count();
  }

  void run() const {
    const int64_t threads = thread_count(), whole = panels_ / threads * threads, tiles = ceil_div(plan_.x.m, height_);
    const Strided strided(plan_, nullptr, 0);
    const bool by_parts = plan_.x.epilogue && !plan_.x.epilogue->whole;
    in_parts(whole + (panels_ - whole) * threads, [&](int64_t part) {
      const int64_t q = part < whole ? part : whole + (part - whole) / threads, row = (part - whole) % threads;
      const int64_t begin = part < whole ? 0 : row * tiles / threads * height_;
      const int64_t end = part < whole ? plan_.x.m : std::min(plan_.x.m, (row + 1) * tiles / threads * height_);
      panel(strided, q, begin, end);
      const int64_t j = q * plan_.kernel.columns(), j_end = std::min(plan_.x.n, j + plan_.kernel.columns());
      if (by_parts && begin < end) plan_.finish(plan_.place(begin, 0), begin, end, j, j_end);
    });
    if (plan_.x.epilogue && !by_parts) plan_.finish_all();
  }

 private:
  void panel(const Strided& strided, int64_t q, int64_t begin, int64_t end) const {
    const Lent lent(Piece::packed);
    for (int64_t p = 0; p < plan_.x.k; p += plan_.depth) {
      plan_.pack_b(q * plan_.kernel.columns(), 1, p, std::min(plan_.depth, plan_.x.k - p), lent.data(), 0);
      strided.panel(q, p, begin, end, lent.data());
    }
  }

  const Plan& plan_;
  const int64_t panels_, height_ = plan_.kernel.strided_rows();
};

// Many rows: the panels of B are packed first, for all threads, which then share tiles of C. A tile stays in a core's
// cache until it is done; for every depth, the rows of A are packed again. Columns are cut into groups, so that a thread finds
// in its cache what it has packed: it takes rows of its own group first, and rows of others in the end.
class Square {
 public:
  // Memory for so many bytes of packed panels: at least one, for as many columns as fit otherwise.
  explicit Square(const Plan& of)
      : plan_(of),
        x_(of.x),
        kernel_(of.kernel),
        depths_(ceil_div(x_.k, plan_.depth)),
        panel_bytes_(kernel_.columns() * kernel_.steps(plan_.depth) * kernel_.unit),
        most_(std::clamp<int64_t>(share_bytes() / (panel_bytes_ * depths_), 1, ceil_div(x_.n, kernel_.columns()))) {}

  int64_t nbytes() const { return most_ * depths_ * panel_bytes_; }

  // memory: so many bytes, aligned to 64.
  void run(char* memory) {
    shared_ = memory;
    const bool together = x_.epilogue && x_.epilogue->whole && most_ * kernel_.columns() < x_.n;
    finishes_ = x_.epilogue && !together;
    for (first_ = 0; first_ < x_.n; first_ += most_ * kernel_.columns()) {
      panels_ = std::min(most_, ceil_div(x_.n, kernel_.columns()) - first_ / kernel_.columns());
      const int64_t down = ceil_div(x_.m, plan_.block_rows), row_bytes = kernel_.columns() * plan_.block_rows * kernel_.result;
      const int64_t threads = thread_count(), own = std::clamp<int64_t>(panels_ / kPanelsOfGroup, 1, threads);
      const int64_t fit = ceil_div(panels_, std::max<int64_t>(1, tile_bytes() / row_bytes));
      const int64_t enough = std::min(ceil_div(threads, down), ceil_div(panels_, kPanelsOfThread));
      groups_ = finishes_ && x_.epilogue->whole ? 1 : std::min({std::max({fit, own, enough}), panels_, kMostParts});
      const int64_t seats = ceil_div(threads, groups_);  // of a group
      in_parts(groups_ * seats, [&](int64_t part) { pack(part / seats, part % seats, seats); });
      std::atomic<int64_t> next[kMostParts] = {};
      in_parts(groups_ * seats, [&](int64_t part) {
        const int64_t group = part / seats, helped = part + threads < groups_ * seats ? 1 : groups_;
        for (int64_t k = 0; k < helped; ++k) {
          const int64_t right = (group + k) % groups_;
          for (int64_t row = next[right]++; row < down; row = next[right]++) tile(row, right);
        }
      });
    }
    if (together) plan_.finish_all();
  }

 private:
  // A part of the panels of a group, a few of which are packed side by side.
  void pack(int64_t group, int64_t part, int64_t parts) const {
    const int64_t first = group * panels_ / groups_, count = (group + 1) * panels_ / groups_ - first;
    const int64_t end = first + (part + 1) * count / parts;
    for (int64_t d = 0; d < depths_; ++d)
      for (int64_t begin = first + part * count / parts; begin < end; begin += kGroup) {
        const int64_t p = d * plan_.depth;
        plan_.pack_b(first_ + begin * kernel_.columns(), std::min(kGroup, end - begin), p, std::min(plan_.depth, x_.k - p),
                     shared_ + (d * panels_ + begin) * panel_bytes_, panel_bytes_);
      }
  }

  void tile(int64_t down, int64_t right) const {
    const Lent lent(Piece::block);
    const Released after(kernel_);
    char* const block = lent.data();
    const int64_t i = down * plan_.block_rows, rows = std::min(plan_.block_rows, x_.m - i);
    const int64_t begin = right * panels_ / groups_, end = (right + 1) * panels_ / groups_;
    for (int64_t d = 0; d < depths_; ++d) {
      const int64_t p = d * plan_.depth, k = std::min(plan_.depth, x_.k - p);
      plan_.pack_a(i, rows, p, k, block);
      for (int64_t q = begin; q < end; ++q) {
        const int64_t j = first_ + q * kernel_.columns();
        plan_.panel(plan_.place(i, j), rows, j, p, k, block, shared_ + (d * panels_ + q) * panel_bytes_, plan_.panel_step(j));
      }
    }
    if (finishes_)
      plan_.finish(plan_.place(i, 0), i, i + rows, first_ + begin * kernel_.columns(),
                   std::min(x_.n, first_ + end * kernel_.columns()));
  }

  const Plan& plan_;
  const Product& x_;
  const Kernel& kernel_;
  const int64_t depths_, panel_bytes_, most_;
  char* shared_ = nullptr;  // packed panels
  bool finishes_ = false;  // whether tiles are handed over as they are
  int64_t first_ = 0, panels_ = 0, groups_ = 0;  // the columns being worked on, and their groups
};

// C is nowhere: each thread computes some whole rows, hands them over and forgets them. Without memory for packed panels of
// B they are packed for every tile.
class Passing {
 public:
  explicit Passing(const Plan& of)
      : plan_(of),
        x_(of.x),
        kernel_(of.kernel),
        panels_(ceil_div(x_.n, kernel_.columns())),
        depths_(ceil_div(x_.k, plan_.depth)),
        panel_bytes_(kernel_.columns() * kernel_.steps(plan_.depth) * kernel_.unit),
        rows_at_once_(std::min(slivers_at_once() * plan_.height, kLinesBytes / (x_.n * kernel_.result))) {}

  int64_t nbytes() const { return plan_.direct ? 0 : panels_ * depths_ * panel_bytes_; }

  // memory: so many bytes, aligned to 64, or null.
  void run(char* memory) {
    shared_ = memory;
    const int64_t groups = ceil_div(panels_, kGroup);
    if (shared_) in_parts(groups * depths_, [&](int64_t part) { pack(part / groups, part % groups, groups); });
    in_parts(ceil_div(x_.m, rows_at_once_), [this](int64_t part) { tile(part * rows_at_once_); });
  }

 private:
  int64_t slivers_at_once() const {
    const int64_t rows = std::min(passing_bytes(kernel_) / (x_.n * kernel_.result), ceil_div(x_.m, kTiles));
    return std::clamp<int64_t>(rows / plan_.height, 1, plan_.block_rows / plan_.height);
  }

  void pack(int64_t d, int64_t group, int64_t groups) const {
    const int64_t p = d * plan_.depth, begin = group * panels_ / groups, end = (group + 1) * panels_ / groups;
    plan_.pack_b(begin * kernel_.columns(), end - begin, p, std::min(plan_.depth, x_.k - p),
                 shared_ + (d * panels_ + begin) * panel_bytes_, panel_bytes_);
  }

  void tile(int64_t i) const {
    const Lent lines(Piece::lines);
    const int64_t rows = std::min(rows_at_once_, x_.m - i);
    compute(i, rows, lines.data());
    plan_.finish(lines.data(), i, i + rows, 0, x_.n);  // which may compute products of its own
  }

  void compute(int64_t i, int64_t rows, char* lines) const {
    const Lent block_memory(Piece::block), panel_memory(Piece::packed);
    const Released after(kernel_);
    char *const block = block_memory.data(), *const packed = panel_memory.data();
    for (int64_t d = 0; d < depths_; ++d) {
      const int64_t p = d * plan_.depth, k = std::min(plan_.depth, x_.k - p);
      plan_.pack_a(i, rows, p, k, block);
      for (int64_t q = 0; q < panels_; ++q) {
        const int64_t j = q * kernel_.columns();
        const char* b = shared_ ? shared_ + (d * panels_ + q) * panel_bytes_ : packed;
        int64_t step = plan_.panel_step(j);
        if (plan_.direct) {
          b = x_.b + (p * x_.b_row + j) * kernel_.item;
          step = x_.b_row * kernel_.item;
        } else if (!shared_) {
          plan_.pack_b(j, 1, p, k, packed, 0);
        }
        plan_.panel(lines + j * kernel_.result, rows, j, p, k, block, b, step);
      }
    }
  }

  const Plan& plan_;
  const Product& x_;
  const Kernel& kernel_;
  const int64_t panels_, depths_, panel_bytes_, rows_at_once_;
  char* shared_ = nullptr;  // packed panels
};

// A small C with long sums: parts of the sums are added up side by side, and then in order.
int64_t parts_of_sums(const Product& x, const Kernel& kernel) {
  const bool suits = x.m * x.n * kernel.result <= kSmall && x.k >= kLongSum && x.k >= kSlender * std::max(x.m, x.n) &&
                     (x.m + x.n) * x.k * kernel.item >= kLongBytes;
  return suits ? std::clamp<int64_t>(x.k / kDepth, 2, kSumParts) : 1;
}

// Rows `begin` ... `end` along k, into another C.
Product part_of_sums(const Product& x, const Kernel& kernel, int64_t begin, int64_t end, char* c) {
  Product part = x;
  part.k = end - begin;
  part.epilogue = nullptr;
  part.a += begin * x.a_col * kernel.item;
  part.b += begin * x.b_row * kernel.item;
  part.c = c;
  part.c_row = x.n;
  part.into = Into::set;
  return part;
}

template <class T>
void accumulate(const Product& x, const char* from, bool add) {
  const int64_t width = x.n * (x.code >= code_complex64 ? 2 : 1), apart = x.c_row * (x.code >= code_complex64 ? 2 : 1);
  auto* c = reinterpret_cast<T*>(x.c);
  auto* part = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < width; ++j) c[i * apart + j] = add ? c[i * apart + j] + part[i * width + j] : part[i * width + j];
}

void accumulate_any(const Product& x, const char* from, bool add) {
  switch (x.code) {
    case code_float32:
    case code_bfloat16:
    case code_float16:
    case code_complex64: return accumulate<float>(x, from, add);
    case code_float64:
    case code_complex128: return accumulate<double>(x, from, add);
    case code_int64:
    case code_uint64: return accumulate<uint64_t>(x, from, add);
    default: return accumulate<uint32_t>(x, from, add);
  }
}

// Without memory for all parts one comes after the other.
void multiply_long(const Product& x, const Kernel& kernel, int64_t parts, char* memory) {
  const int64_t nbytes = x.m * x.n * kernel.result;
  const auto compute = [&](int64_t t, char* to) {
    const int64_t begin = t * x.k / parts / kEven * kEven, end = t + 1 == parts ? x.k : (t + 1) * x.k / parts / kEven * kEven;
    multiply(part_of_sums(x, kernel, begin, end, to));
  };
  if (memory) {
    in_parts(parts, [&](int64_t t) { compute(t, memory + t * nbytes); });
    for (int64_t t = 0; t < parts; ++t) accumulate_any(x, memory + t * nbytes, x.into == Into::add || t > 0);
    return;
  }
  const Lent one(Piece::part);
  for (int64_t t = 0; t < parts; ++t) {
    compute(t, one.data());
    accumulate_any(x, one.data(), x.into == Into::add || t > 0);
  }
}

// Memory for parts of sums, and for C where it is not kept.
int64_t bytes_of_parts(const Product& x, const Kernel& kernel, int64_t parts) {
  return (parts + (x.c ? 0 : 1)) * x.m * x.n * kernel.result;
}

// False without memory for a C that is not kept.
bool multiply_in_parts(const Product& x, const Kernel& kernel, int64_t parts) {
  const Scratch memory(bytes_of_parts(x, kernel, parts));
  if (!x.c && memory.failed) return false;
  Product kept = x;
  if (!x.c) kept.c = memory.data() + parts * x.m * x.n * kernel.result;
  multiply_long(kept, kernel, parts, memory.data());
  if (x.epilogue) Plan(kept).finish_all();
  return true;
}

constexpr int kTilesLevel = 5, kLastWithoutTiles = 4, kLastUngrouped = 2;  // of floats
std::atomic<int> most_level{kTilesLevel};

// 4: AVX-512 with VNNI and BF16, 3: with VNNI, 2: AVX-512, 1: AVX2 and FMA, 0: anything. Without AMX, level 5, for which the
// system is only asked where it is used: from then on each signal saves the tiles.
int cpu_level() {
#ifdef NJ_SIMD_X86
  static const int level = simd_choice() < Simd::avx512 ? static_cast<int>(simd_choice()) : has_bf16() ? 4 : has_vnni() ? 3 : 2;
  return level;
#else
  return 0;
#endif
}

void clear(const Product& x, int64_t bytes) {
  if (x.into != Into::set || !x.c) return;
  for (int64_t i = 0; i < x.m; ++i) std::memset(x.c + i * x.c_row * bytes, 0, x.n * bytes);
}

#ifdef NJ_SIMD_X86
const Kernel* tiles_of(DtypeCode code) {
  switch (code) {
    case code_int8: return &avx512::gemm_more_kernels.int8_tiles;
    case code_uint8: return &avx512::gemm_more_kernels.uint8_tiles;
    case code_bfloat16: return &avx512::gemm_more_kernels.bfloat16_tiles;
    default: return nullptr;
  }
}
#endif

// Of a level, or of the highest one that may be used if that is lower.
const Kernel& kernel_at(int most, DtypeCode code) {
#ifdef NJ_SIMD_X86
  const int allowed = std::min(most, most_level.load(std::memory_order_relaxed)), level = std::min(allowed, cpu_level());
  if (allowed >= kTilesLevel) {
    const Kernel* const tiles = tiles_of(code);
    if (tiles && has_tiles()) return *tiles;
  }
  if (level >= 3 && code == code_int8) return avx512::gemm_more_kernels.int8;
  if (level >= 3 && code == code_uint8) return avx512::gemm_more_kernels.uint8;
  if (level >= 3 && code == code_int16) return avx512::gemm_more_kernels.int16;
  if (level >= 4 && code == code_bfloat16) return avx512::gemm_more_kernels.bfloat16;
  if (level >= 2) return avx512::gemm_kernels.of[code];
  if (level == 1) return avx2::gemm_kernels.of[code];
#else
  static_cast<void>(most);
#endif
  return portable::gemm_kernels.of[code];
}

}  // namespace

// Whether tiles pay for being set up. The number of rows does not count: rows have the same bits wherever they are cut.
static bool fills_tiles(int64_t n, int64_t k) { return k >= kDepthForTiles && n >= kColumnsForTiles; }

const Kernel& kernel_of(DtypeCode code, int64_t n, int64_t k) {
  return kernel_at(fills_tiles(n, k) ? kTilesLevel : kLastWithoutTiles, code);
}
const Kernel& ungrouped_kernel_of(DtypeCode code) { return kernel_at(kLastUngrouped, code); }

static const Kernel& kernel_of(const Product& x) { return kernel_of(x.code, x.n, x.k); }

void multiply(const Product& x) {
  if (x.m <= 0 || x.n <= 0) return;
  if (x.k <= 0) return clear(x, kernel_of(x).result);
  const Kernel& kernel = kernel_of(x);
  if (const int64_t parts = parts_of_sums(x, kernel); parts > 1) {
    if (multiply_in_parts(x, kernel, parts)) return;
  }
  const Plan plan(x);
  if (!x.c) {
    Passing passing(plan);
    const Scratch memory(passing.nbytes());
    return passing.run(memory.data());
  }
  if (multiply_vector(x)) return x.epilogue ? plan.finish_all() : void();
  if (unpacked(plan)) return multiply_unpacked(plan);
  if (narrow(plan)) return multiply_narrow(plan);
  if (plan.flat()) return multiply_flat(plan);
  if (const Columns columns(plan); columns.suits()) return columns.run();
  Square square(plan);
  const Scratch memory(square.nbytes());
  if (memory.failed) return multiply_flat(plan);  // needs no memory of the pool
  square.run(memory.data());
}

void multiply_alone(const Product& x) {
  if (x.m <= 0 || x.n <= 0) return;
  if (x.k <= 0) return clear(x, kernel_of(x).result);
  const Plan plan(x);
  if (unpacked(plan)) return multiply_unpacked(plan, true);
  if (narrow(plan)) return multiply_narrow(plan, true);
  multiply_flat(plan, true);
}

void multiply_by_panels(const Product& x, const char* panels, int64_t panel_bytes) {
  if (x.m > 0 && x.n > 0 && x.k > 0) Strided(Plan(x), panels, panel_bytes).run(true);
}

// Of a product of many rows some, by this thread alone: the same bits wherever the rows are cut.
void multiply_rows(const Product& x) {
  if (x.m <= 0 || x.n <= 0) return;
  const Kernel& kernel = kernel_of(x);
  if (x.k <= 0) return clear(x, kernel.result);
  const Plan plan(x);
  if (has_strided(plan) && x.b_col == 1) return multiply_unpacked(plan, true);
  multiply_flat(plan, true);
}

// Memory that one product takes of the pool, with so many threads at work on it.
int64_t bytes(const Product& x, int64_t threads) {
  if (x.m <= 0 || x.n <= 0 || x.k <= 0) return 0;
  const Kernel& kernel = kernel_of(x);
  if (const int64_t parts = parts_of_sums(x, kernel); parts > 1) {
    const Product part = part_of_sums(x, kernel, 0, x.k / parts, x.c);
    const auto sums = static_cast<int64_t>(pool_capacity(bytes_of_parts(x, kernel, parts)));
    return sums + std::min(threads, parts) * bytes(part, 1);
  }
  const auto taken = [](int64_t nbytes) { return nbytes ? static_cast<int64_t>(pool_capacity(nbytes)) : 0; };
  const Plan plan(x);
  if (!x.c) return taken(Passing(plan).nbytes());
  if (const int64_t vector = vector_bytes(x); vector >= 0) return taken(vector);
  return unpacked(plan) || narrow(plan) || plan.flat() || Columns(plan).suits() ? 0 : taken(Square(plan).nbytes());
}

// How many parts of a batch of products threads work on side by side; 1: one product after the other, each shared.
int64_t batch_parts(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const int64_t each = std::max<int64_t>(1, m * n * std::max<int64_t>(k, 1));
  if (batch <= 1 || each >= kLarge) return 1;
  return std::clamp<int64_t>(batch * (each + kEach) / (2 * kShared), 1, std::min(batch, kMostParts));
}

}  // namespace nj::gemm

static nj::gemm::Into into_of(int64_t add) { return add ? nj::gemm::Into::add : nj::gemm::Into::set; }

// `batch` products, the strides of whose operands and results are given; C's rows are n elements long.
extern "C" void nj_gemm_epilogue(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_batch,
                                 int64_t a_row, int64_t a_col, const char* b, int64_t b_batch, int64_t b_row, int64_t b_col,
                                 char* c, int64_t add, int64_t whole,
                                 void (*then)(void*, char*, int64_t, int64_t, int64_t, int64_t), void* context) {
  using namespace nj::gemm;
  const Kernel& kernel = kernel_of(static_cast<nj::DtypeCode>(code), n, k);
  const auto one = [&](int64_t t) {
    const Epilogue epilogue{then, context, t * m, whole != 0};
    multiply({static_cast<nj::DtypeCode>(code), m, n, k, a + t * a_batch * kernel.item, a_row, a_col,
              b + t * b_batch * kernel.item, b_row, b_col, c ? c + t * m * n * kernel.result : nullptr, n, into_of(add),
              then ? &epilogue : nullptr});
  };
  const int64_t parts = batch_parts(batch, m, n, k);
  in_parts(parts, [&](int64_t part) {
    for (int64_t t = part * batch / parts; t < (part + 1) * batch / parts; ++t) one(t);
  });
}
NJ_KERNEL(nj_gemm_epilogue);

extern "C" void nj_gemm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_batch,
                        int64_t a_row, int64_t a_col, const char* b, int64_t b_batch, int64_t b_row, int64_t b_col, char* c,
                        int64_t add) {
  nj_gemm_epilogue(code, batch, m, n, k, a, a_batch, a_row, a_col, b, b_batch, b_row, b_col, c, add, 0, nullptr, nullptr);
}
NJ_KERNEL(nj_gemm);

extern "C" void nj_gemm_rows(int64_t code, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_row, int64_t a_col,
                             const char* b, int64_t b_row, int64_t b_col, char* c) {
  nj::gemm::multiply_rows(
      {static_cast<nj::DtypeCode>(code), m, n, k, a, a_row, a_col, b, b_row, b_col, c, n, nj::gemm::Into::set});
}
NJ_KERNEL(nj_gemm_rows);

static int64_t bytes_of_batch(int64_t threads, nj::gemm::Product x, int64_t batch) {
  using namespace nj::gemm;
  if (batch <= 0) return 0;
  const int64_t together = std::min(threads, batch_parts(batch, x.m, x.n, x.k));
  return together * bytes(x, together > 1 ? 1 : threads);
}

extern "C" int64_t nj_gemm_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a,
                                 int64_t, int64_t a_row, int64_t a_col, const char* b, int64_t, int64_t b_row, int64_t b_col,
                                 char*, int64_t add) {
  static char kept;  // none of the arrays is looked at
  return bytes_of_batch(
      threads, {static_cast<nj::DtypeCode>(code), m, n, k, a, a_row, a_col, b, b_row, b_col, &kept, n, into_of(add)}, batch);
}
NJ_KERNEL(nj_gemm_bytes);

// The same where C is not kept.
extern "C" int64_t nj_gemm_epilogue_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k,
                                          const char* a, int64_t, int64_t a_row, int64_t a_col, const char* b, int64_t,
                                          int64_t b_row, int64_t b_col, char*, int64_t add) {
  return bytes_of_batch(
      threads, {static_cast<nj::DtypeCode>(code), m, n, k, a, a_row, a_col, b, b_row, b_col, nullptr, n, into_of(add)}, batch);
}
NJ_KERNEL(nj_gemm_epilogue_bytes);

// Uses instructions up to a level only: 0 those of every CPU, 1 AVX2 and FMA, 2 AVX-512, 3 that with VNNI, 4 and with BF16, 5
// and with AMX.
// Returns the level in use: this CPU may have less. For tests, while nothing else runs.
extern "C" int64_t nj_gemm_level(int64_t level) {
  nj::gemm::most_level.store(static_cast<int>(level));
  if (level >= nj::gemm::kTilesLevel && nj::has_tiles()) return nj::gemm::kTilesLevel;
  return std::min<int64_t>(level, nj::gemm::cpu_level());
}
NJ_KERNEL(nj_gemm_level);
