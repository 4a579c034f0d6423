// Which instruction set of this processor code that is compiled once per set (native/simd) uses. No Python in here.
#pragma once

namespace nj {

enum class Simd { portable, avx2, avx512 };

// The widest set that this processor has and that the library was built for.
Simd simd_choice();

// Whether it also has AVX512-VNNI, sums of products of small integers.
bool has_vnni();

}  // namespace nj
