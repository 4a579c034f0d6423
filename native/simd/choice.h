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

// Whether it also has AVX512-BF16, sums of products of bfloat16.
bool has_bf16();

// Whether it also has AMX for bfloat16 and integers of 8 bits, and the system lets this process use it.
bool has_tiles();

}  // namespace nj

// NJ_EACH_SIMD: the declaration of something that every set has of its own. NJ_CHOSEN_SIMD: that of the set in use.
#ifdef NJ_SIMD_X86
#define NJ_EACH_SIMD(declaration)     \
  namespace portable { declaration; } \
  namespace avx2 { declaration; }     \
  namespace avx512 { declaration; }
#define NJ_CHOSEN_SIMD(name) \
  (simd_choice() == Simd::avx512 ? avx512::name : simd_choice() == Simd::avx2 ? avx2::name : portable::name)
#else
#define NJ_EACH_SIMD(declaration) \
  namespace portable { declaration; }
#define NJ_CHOSEN_SIMD(name) portable::name
#endif
