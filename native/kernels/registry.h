// Registry of extern "C" kernels that machine code calls by address. No Python in here.
#pragma once
#include <cstdint>
#include <new>

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

struct KernelEntry {
  const char* name;
  const void* address;
  KernelEntry* next;
  KernelEntry(const char* kernel_name, const void* kernel_address);
};

const KernelEntry* first_kernel();

}  // namespace nj

// Makes an extern "C" function known to kernel_address(). Use at namespace scope.
#define NJ_KERNEL(function) \
  static ::nj::KernelEntry entry_of_##function(#function, ::nj::code_address(::nj::KernelBoundary<function>::call))
