// Functions as the pointers to data that tables of C and machine code hold: the one place that converts.
#pragma once

namespace nj {

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconditionally-supported"
#endif
template <class Function> void* code_address(Function* function) { return reinterpret_cast<void*>(function); }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace nj
