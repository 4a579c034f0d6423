// Which instruction set of this processor code that is compiled once per set (native/simd) uses. No Python in here.
#pragma once

namespace nj {

enum class Simd { portable, avx2, avx512 };

// The widest set that this processor has and that the library was built for.
Simd simd_choice();

}  // namespace nj
