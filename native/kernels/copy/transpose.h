// Transposed copies of blocks of memory, compiled once per instruction set (native/simd/transpose.cpp). No Python here.
#pragma once
#include <cstdint>

namespace nj::squares {

// Element (r, c) of `rows` x `columns` elements, at to + r * to_step + c * item, becomes that at from + c * from_step + r *
// item. Steps count bytes.
using Turn = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows, int64_t columns);

// For elements of 1, 2, 4, 8 or 16 bytes; null for others.
Turn turn_of(int64_t item);

}  // namespace nj::squares
