// A pool of memory blocks, 64-byte aligned. No Python in here.
#pragma once
#include <cstddef>
#include <cstdint>

namespace nj {

// A piece of memory, and room for whatever owns it: so one allocation serves both.
struct Block {
  Block(size_t capacity, int size_class) : capacity(capacity), size_class(size_class) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  alignas(8) char room[64];
  char* data = nullptr;
  size_t capacity;
  int size_class;
  Block *older, *newer;  // all free blocks by time of return
  Block *below, *above;  // the free blocks of this class, a stack
};

// Uninitialised; null when there is no memory.
Block* take_block(size_t nbytes);
void return_block(Block* block);

// Memory for the run of one computation. No data when out of memory, or for no bytes.
class Scratch {
 public:
  explicit Scratch(size_t nbytes) : block_(nbytes ? take_block(nbytes) : nullptr), failed(nbytes && !block_) {}
  ~Scratch() {
    if (block_) return_block(block_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  char* data() const { return block_ ? block_->data : nullptr; }

 private:
  Block* const block_;

 public:
  const bool failed;
};

// Bytes of the block that `nbytes` get, and whether there are blocks so large.
size_t pool_capacity(size_t nbytes);
bool pool_gives(size_t nbytes);

struct PoolStats {
  size_t limit = 0, live = 0, cached = 0, peak = 0;  // bytes; limit: that are kept free
  uint64_t allocations = 0, reuses = 0;
};
PoolStats pool_stats();
// Gives all free memory back to the system.
void trim_pool();
// Sets how many free bytes are kept; the previous limit.
size_t limit_pool(size_t limit);

// How many bytes more than at its beginning are in use at the peak, by all threads. Windows nest.
class PoolWindow {
 public:
  PoolWindow();
  size_t end();

 private:
  size_t before_, outer_;
};

}  // namespace nj
