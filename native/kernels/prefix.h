// Running sums, products and limits of a run of elements, compiled once per instruction set (native/simd/prefix.cpp).
// No Python here.
#pragma once
#include <cstdint>

#include "kernels/dtypes.h"

namespace nj::prefix {

enum Kind : int64_t { kind_add, kind_mul, kind_max, kind_min, kind_count };

// Combines `before` with the running results of the n elements at `in`, from the last to the first if backwards, and writes
// them to `out`, which may be `in`, or null. Then *total (which may be `before`) is that with all of them. Where the result
// of all is before + t, t does not depend on `before`: so those of neighbouring runs fit together, whoever computes t.
// neutral: the element that changes nothing, from neutral_of().
using Scan = void (*)(const void* in, void* out, int64_t n, bool backwards, const void* neutral, const void* before,
                      void* total);

// Null for what there is no code for.
Scan scan_of(int64_t kind, int64_t code);
// The element that changes nothing, of a code, to `to` (16 bytes at most).
void neutral_of(int64_t kind, int64_t code, void* to);

}  // namespace nj::prefix
