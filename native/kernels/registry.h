// Registry of extern "C" kernels that machine code calls by address. No Python in here.
#pragma once
#include <cstdint>

namespace nj {

struct KernelEntry {
  const char* name;
  const void* address;
  KernelEntry* next;
  KernelEntry(const char* kernel_name, const void* kernel_address);
};

}  // namespace nj

// Makes an extern "C" function known to kernel_address(). Use at namespace scope.
#define NJ_KERNEL(function) static ::nj::KernelEntry entry_of_##function(#function, reinterpret_cast<const void*>(&function))
