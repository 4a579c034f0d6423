// The registry of kernels, a list that grows while the library is loaded.
#include "kernels/registry.h"

namespace nj {

namespace {
KernelEntry* first = nullptr;
}  // namespace

KernelEntry::KernelEntry(const char* kernel_name, const char* kernel_type, const void* kernel_address)
    : name(kernel_name), type(kernel_type), address(kernel_address), next(first) {
  first = this;
}

const KernelEntry* first_kernel() { return first; }

}  // namespace nj
