// Which instruction set of this processor code that is compiled once per set (native/simd) uses. No Python in here.
#pragma once

namespace nj {

enum class Simd { portable, avx2, avx512 };

// The widest set that this processor has and that the library was built for, up to the limit.
Simd simd_choice();

// To be called before anything has asked for the choice: whether it was, and this processor has the set.
bool limit_simd(Simd widest);

// Whether it also has AVX512-VNNI, sums of products of small integers.
bool has_vnni();

}  // namespace nj
