// Working memory of products, kept by each thread for its next product: stacks of threads may be small (256 KiB).
#pragma once
#include <cstdint>

namespace nj::gemm {

// In the order in which one thread may hold them.
enum class Piece : int { part, sums, lines, block, packed };

constexpr int64_t kPartBytes = 64 * 1024;      // of a small C: one of several that are added up
constexpr int64_t kSumsBytes = 128 * 1024;     // of sums of columns, of a few vectors
constexpr int64_t kLinesBytes = 1024 * 1024;   // of rows of a C that is null; MOST_ROWS of products.py fit at least
constexpr int64_t kBlockBytes = 512 * 1024;    // of a packed block of A at most
constexpr int64_t kPanelBytes = 64 * 1024;     // of a packed panel of B
constexpr int64_t kPieceBytes[] = {kPartBytes, kSumsBytes, kLinesBytes, kBlockBytes, kPanelBytes};

// A piece of memory as long as this object lives, aligned to 64 bytes. Never fails: without memory threads take turns with
// one piece that is always there. Who has that (`scarce`) must not wait for other threads that may want a piece of the same
// or an earlier kind.
class Lent {
 public:
  explicit Lent(Piece piece);
  ~Lent();
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  char* data() const { return data_; }
  bool scarce() const;

 private:
  const int piece_;
  char* data_;
};

}  // namespace nj::gemm
