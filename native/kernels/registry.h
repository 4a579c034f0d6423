// Registry of extern "C" kernels that machine code calls by address. No Python in here.
#pragma once
#include <cstdint>
#include <new>
#include <type_traits>

#include "runtime/code_address.h"

namespace nj {

// The status of every kernel that found no memory; programs make it a MemoryError.
constexpr int64_t kNoMemory = 1;

// The boundary to machine code, which no exception may cross: a kernel that returns a status reports std::bad_alloc by it.
// Kernels without a status allocate nothing.
template <auto function> struct KernelBoundary { static constexpr auto call = function; };
template <class... Args, int64_t (*function)(Args...)> struct KernelBoundary<function> {
  static int64_t call(Args... args) {
    try {
      return function(args...);
    } catch (const std::bad_alloc&) {
      return kNoMemory;
    }
  }
};

// The type of a kernel as text, a letter for its result and one for each argument: v nothing, p an address, i and l integers
// of 32 and 64 bits, n and u those of 128 bits with and without sign, f and d floats.
template <class T> constexpr char type_letter() {
  if constexpr (std::is_void_v<T>) return 'v';
  else if constexpr (std::is_pointer_v<T>) return 'p';
  else if constexpr (std::is_same_v<T, int32_t>) return 'i';
  else if constexpr (std::is_same_v<T, int64_t>) return 'l';
  else if constexpr (std::is_same_v<T, float>) return 'f';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else if constexpr (std::is_same_v<T, unsigned __int128>) return 'u';
  else {
    static_assert(std::is_same_v<T, __int128>, "a kernel of a type that has no letter");
    return 'n';
  }
}
template <class Function> struct KernelType;
template <class Result, class... Args> struct KernelType<Result (*)(Args...)> {
  static constexpr char text[] = {type_letter<Result>(), '(', type_letter<Args>()..., ')', 0};
};

struct KernelEntry {
  const char* name;
  const char* type;
  const void* address;
  KernelEntry* next;
  KernelEntry(const char* kernel_name, const char* kernel_type, const void* kernel_address);
};

const KernelEntry* first_kernel();

}  // namespace nj

// Makes an extern "C" function known to kernel_address(). Use at namespace scope.
#define NJ_KERNEL(function)                                                                    \
  static ::nj::KernelEntry entry_of_##function(#function, ::nj::KernelType<decltype(&function)>::text, \
                                               ::nj::code_address(::nj::KernelBoundary<function>::call))
