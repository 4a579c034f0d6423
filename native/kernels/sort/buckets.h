// Samplesort of one long row: numbers sampled from it divide it into buckets, which threads fill and sort (W. D. Frazer and
// A. C. McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", 1970). No Python in here.
#pragma once
#include <cstdint>

namespace nj::sorting {

constexpr int64_t kBucketed = 1 << 16;  // elements from which a row is worth several threads

// Whether a row of n numbers of this dtype is sorted so: there are threads, and the dtype has 32 or 64 bits.
bool has_buckets(int64_t code, int64_t n);

// Sorts n contiguous numbers into other memory, NaNs last. Numbers that are equal must have equal bits, so that the result is
// the same whatever the number of threads.
void bucket_sort(int64_t code, const char* from, char* to, int64_t n);

// The bucket of each number: how many splitters, which ascend, are not greater. Compiled once per instruction set
// (native/simd/buckets.cpp).
using BucketIds = void (*)(const char* from, int64_t n, const char* splitters, int64_t num_splitters, uint8_t* ids);

}  // namespace nj::sorting
