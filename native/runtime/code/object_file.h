// Loader of relocatable object files: what LLVM emitted in another process, linked without LLVM.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nj {

// Pages with machine code, executable and not writable, unmapped at the end.
class CodePages {
 public:
  CodePages() = default;
  CodePages(CodePages&& other) noexcept;
  CodePages& operator=(CodePages&&) = delete;
  ~CodePages();

  char* start = nullptr;
  size_t length = 0;
};

// The address of an external symbol, or 0.
class SymbolTable {
 public:
  virtual ~SymbolTable() = default;
  virtual uint64_t address(const char* name) const = 0;
};

// Loads an ELF object for this machine and finds the function `entry` in it. 0 with `problem` set where the file is damaged,
// or holds what this loader does not know: the caller has the program compiled, or linked by LLVM.
uint64_t load_object_file(const char* bytes, size_t count, const char* entry, const SymbolTable& symbols, CodePages& pages,
                          std::string& problem);

}  // namespace nj
