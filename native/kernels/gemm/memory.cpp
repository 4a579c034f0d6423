// See memory.h.
#include "kernels/gemm/memory.h"

#include <pthread.h>

#include <cstdlib>

#include "runtime/threads/spinlock.h"

namespace nj::gemm {

namespace {

constexpr int kPieces = 5;
constexpr int64_t kAlignment = 64;

// What this thread keeps of each kind; null while it is lent.
struct Kept {
  char* pieces[kPieces] = {};
  ~Kept() {
    for (char* piece : pieces) std::free(piece);
  }
};
thread_local Kept kept;

// Pages that nobody touches take no memory.
alignas(kAlignment) char last_part[kPartBytes], last_sums[kSumsBytes], last_lines[kLinesBytes], last_block[kBlockBytes],
    last_packed[kPanelBytes];
char* const kLastPieces[kPieces] = {last_part, last_sums, last_lines, last_block, last_packed};
SpinLock last_locks[kPieces];

// Whoever held one is not there in the child.
void after_fork_in_child() {
  for (SpinLock& lock : last_locks) lock.unlock();
}
const int kRegistered = pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

Lent::Lent(Piece piece) : piece_(int(piece)), data_(kept.pieces[piece_]) {
  kept.pieces[piece_] = nullptr;
  if (data_) return;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, size_t(kPieceBytes[piece_])) == 0) {
    data_ = static_cast<char*>(memory);
    return;
  }
  last_locks[piece_].lock();
  data_ = kLastPieces[piece_];
}

Lent::~Lent() {
  if (scarce()) {
    last_locks[piece_].unlock();
  } else if (kept.pieces[piece_]) {
    std::free(data_);  // two of a kind were lent: one is kept
  } else {
    kept.pieces[piece_] = data_;
  }
}

bool Lent::scarce() const { return data_ == kLastPieces[piece_]; }

}  // namespace nj::gemm
