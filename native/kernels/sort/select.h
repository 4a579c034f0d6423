// Rows that a mask selects, by all threads. No Python in here.
#pragma once
#include <cstdint>

namespace nj::select {

constexpr int64_t kChunk = 1 << 16;  // elements of the mask that one thread looks at
inline int64_t chunk_count(int64_t size) { return (size + kChunk - 1) / kChunk; }

// How many elements of the mask are true. before[chunk], for each chunk and one more: how many of them come before it.
int64_t count(const uint8_t* mask, int64_t size, int64_t* before);
// Copies the rows that the mask selects, in order; `before` as count() left it.
void gather(const uint8_t* mask, int64_t size, int64_t* before, const char* rows, int64_t row_bytes, char* to);

}  // namespace nj::select
