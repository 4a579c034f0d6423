// Copies of arrays with any strides, by all threads. No Python in here.
#pragma once
#include <cstdint>

namespace nj {

// Copies an array with any strides (in bytes) to contiguous memory, if that is worth it: large, with elements of 1, 2, 4, 8
// or 16 bytes. False: nothing was done.
bool copy_strided(const char* from, char* to, int rank, const intptr_t* shape, const intptr_t* strides, int64_t item);

}  // namespace nj
