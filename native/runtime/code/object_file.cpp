// See object_file.h. Sections are laid out one behind the other in pages of their own; calls of functions farther than 2 GiB
// away go through stubs, and addresses of external data through a table, both behind the sections. Every offset of the file is
// checked before it is used.
#include "runtime/code/object_file.h"

#if defined(__linux__) && defined(__x86_64__)

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace nj {

CodePages::CodePages(CodePages&& other) noexcept
    : start(std::exchange(other.start, nullptr)), length(std::exchange(other.length, 0)) {}

CodePages::~CodePages() {
  if (start) munmap(start, length);
}

namespace {

constexpr size_t kStubBytes = 16;  // jmp *2(%rip), two bytes of padding, the address
constexpr size_t kLargest = size_t(1) << 30;
constexpr size_t kPage = 4096;

struct Damaged {
  const char* why;
};

class Object {
 public:
  Object(const char* bytes, size_t count) : bytes_(bytes), count_(count) {
    std::memcpy(&header_, part(0, sizeof header_), sizeof header_);
    const unsigned char* ident = header_.e_ident;
    if (std::memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
      throw Damaged{"no 64-bit ELF file"};
    }
    if (header_.e_type != ET_REL || header_.e_machine != EM_X86_64) throw Damaged{"no relocatable object for x86-64"};
    read_table(sections_, header_.e_shoff, header_.e_shnum);
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) throw Damaged{"two tables of symbols"};
      read_table(symbols_, section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
      names_ = at(sections_, section.sh_link);
    }
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const Elf64_Shdr& section(size_t k) const { return at(sections_, k); }
  const Elf64_Sym& symbol(size_t k) const { return at(symbols_, k); }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }

  const char* name(const Elf64_Sym& symbol) const { return name(names_, symbol.st_name); }

  // Data that only the loader writes: tables of addresses.
  bool is_relocated_data(const Elf64_Shdr& section) const {
    return std::strncmp(name(at(sections_, header_.e_shstrndx), section.sh_name), ".data.rel.ro", 12) == 0;
  }

  const char* part(uint64_t offset, uint64_t length) const {
    if (offset > count_ || length > count_ - offset) throw Damaged{"a part outside of the file"};
    return bytes_ + offset;
  }

  template <class T> void read_table(std::vector<T>& table, uint64_t offset, uint64_t count) const {
    if (count > count_ / sizeof(T)) throw Damaged{"a table larger than the file"};
    const char* start = part(offset, count * sizeof(T));
    table.resize(count);
    if (count) std::memcpy(table.data(), start, count * sizeof(T));
  }

 private:
  const char* name(const Elf64_Shdr& names, uint32_t offset) const {
    const char* table = part(names.sh_offset, names.sh_size);
    if (offset >= names.sh_size) throw Damaged{"a name outside of the table of names"};
    if (!std::memchr(table + offset, 0, names.sh_size - offset)) throw Damaged{"a name without an end"};
    return table + offset;
  }

  template <class T> static const T& at(const std::vector<T>& table, size_t k) {
    if (k >= table.size()) throw Damaged{"a number outside of its table"};
    return table[k];
  }

  const char* bytes_;
  size_t count_;
  Elf64_Ehdr header_;
  Elf64_Shdr names_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
};

size_t aligned(size_t offset, size_t alignment) {
  if (alignment > kPage || (alignment & (alignment - 1))) throw Damaged{"an alignment that pages do not have"};
  if (!alignment) alignment = 1;
  return (offset + alignment - 1) & ~(alignment - 1);
}

class Loader {
 public:
  Loader(const Object& object, const SymbolTable& table, CodePages& pages) : object_(object), table_(table), pages_(pages) {}

  uint64_t load(const char* entry) {
    place_sections();
    copy_sections();
    for (size_t k = 0; k < object_.sections().size(); ++k) relocate(object_.section(k));
    if (mprotect(pages_.start, pages_.length, PROT_READ | PROT_EXEC) != 0) throw Damaged{"the system allows no such pages"};
    return find(entry);
  }

 private:
  void place_sections() {
    size_t end = 0;
    for (const Elf64_Shdr& section : object_.sections()) {
      offsets_.push_back(end);
      if (!(section.sh_flags & SHF_ALLOC) || !section.sh_size) continue;
      const bool varies = (section.sh_flags & SHF_WRITE) && !object_.is_relocated_data(section);
      if (varies || (section.sh_flags & SHF_TLS)) throw Damaged{"variables, which code has none of"};
      if (section.sh_type != SHT_PROGBITS) throw Damaged{"a section of another kind"};
      if (section.sh_size > kLargest) throw Damaged{"a section too large"};
      offsets_.back() = aligned(end, section.sh_addralign);
      end = offsets_.back() + section.sh_size;
      if (end > kLargest) throw Damaged{"sections too large"};
    }
    externals_ = aligned(end, kStubBytes);
    stubs_.assign(object_.symbols().size(), 0);
    const size_t size = externals_ + kStubBytes * object_.symbols().size();
    const size_t length = std::max(kPage, aligned(size, kPage));
    void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Damaged{"no memory for pages"};
    pages_.start = static_cast<char*>(memory);
    pages_.length = length;
  }

  void copy_sections() {
    for (size_t k = 0; k < object_.sections().size(); ++k) {
      const Elf64_Shdr& section = object_.section(k);
      if (!(section.sh_flags & SHF_ALLOC) || !section.sh_size) continue;
      std::memcpy(pages_.start + offsets_[k], object_.part(section.sh_offset, section.sh_size), section.sh_size);
    }
  }

  // The address of a symbol of the file itself.
  uint64_t own(const Elf64_Sym& symbol) const {
    const Elf64_Shdr& section = object_.section(symbol.st_shndx);
    if (!(section.sh_flags & SHF_ALLOC) || symbol.st_value > section.sh_size) throw Damaged{"a symbol outside of its section"};
    return reinterpret_cast<uint64_t>(pages_.start + offsets_[symbol.st_shndx]) + symbol.st_value;
  }

  static bool is_external(const Elf64_Sym& symbol) { return symbol.st_shndx == SHN_UNDEF; }

  uint64_t external(const Elf64_Sym& symbol) const {
    const uint64_t address = table_.address(object_.name(symbol));
    if (!address) throw Damaged{"a symbol without an address"};
    return address;
  }

  // A jump to an external function, and behind it the function's address, for code that reads that.
  uint64_t stub(size_t number) {
    const size_t offset = externals_ + kStubBytes * number;
    char* place = pages_.start + offset;
    if (!stubs_[number]) {
      const unsigned char jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0, 0};
      const Elf64_Sym& symbol = object_.symbol(number);
      const uint64_t address = is_external(symbol) ? external(symbol) : own(symbol);
      std::memcpy(place, jump, sizeof jump);
      std::memcpy(place + sizeof jump, &address, sizeof address);
      stubs_[number] = 1;
    }
    return reinterpret_cast<uint64_t>(place);
  }

  void relocate(const Elf64_Shdr& section) {
    if (section.sh_type == SHT_REL) throw Damaged{"relocations without addends"};
    if (section.sh_type != SHT_RELA) return;
    const Elf64_Shdr& target = object_.section(section.sh_info);
    if (!(target.sh_flags & SHF_ALLOC)) return;
    std::vector<Elf64_Rela> entries;
    object_.read_table(entries, section.sh_offset, section.sh_size / sizeof(Elf64_Rela));
    for (const Elf64_Rela& entry : entries) apply(entry, section.sh_info, target.sh_size);
  }

  void apply(const Elf64_Rela& entry, size_t target, uint64_t size) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    const size_t number = ELF64_R_SYM(entry.r_info);
    const Elf64_Sym& symbol = object_.symbol(number);
    const uint64_t width = type == R_X86_64_64 ? 8 : 4;
    if (entry.r_offset > size || width > size - entry.r_offset) throw Damaged{"a relocation outside of its section"};
    char* place = pages_.start + offsets_[target] + entry.r_offset;
    uint64_t value = 0;
    switch (type) {
      case R_X86_64_64: value = is_external(symbol) ? external(symbol) : own(symbol); break;
      case R_X86_64_PLT32: value = is_external(symbol) ? stub(number) : own(symbol); break;
      case R_X86_64_PC32:
        if (is_external(symbol)) throw Damaged{"an external symbol that has to be near"};
        value = own(symbol);
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: value = stub(number) + 8; break;
      default: throw Damaged{"a relocation of another kind"};
    }
    value += uint64_t(entry.r_addend);
    if (width == 8) {
      std::memcpy(place, &value, sizeof value);
      return;
    }
    const int64_t distance = int64_t(value - reinterpret_cast<uint64_t>(place));
    if (distance < std::numeric_limits<int32_t>::min() || distance > std::numeric_limits<int32_t>::max()) {
      throw Damaged{"a relocation that goes too far"};
    }
    const int32_t word = int32_t(distance);
    std::memcpy(place, &word, sizeof word);
  }

  uint64_t find(const char* entry) const {
    for (const Elf64_Sym& symbol : object_.symbols()) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || is_external(symbol) || std::strcmp(object_.name(symbol), entry) != 0) continue;
      if (!(object_.section(symbol.st_shndx).sh_flags & SHF_EXECINSTR)) throw Damaged{"a function that is no code"};
      return own(symbol);
    }
    throw Damaged{"no function of that name"};
  }

  const Object& object_;
  const SymbolTable& table_;
  CodePages& pages_;
  std::vector<size_t> offsets_;
  std::vector<char> stubs_;
  size_t externals_ = 0;
};

}  // namespace

uint64_t load_object_file(const char* bytes, size_t count, const char* entry, const SymbolTable& symbols, CodePages& pages,
                          std::string& problem) {
  try {
    const Object object(bytes, count);
    return Loader(object, symbols, pages).load(entry);
  } catch (const Damaged& damaged) {
    problem = damaged.why;
    return 0;
  }
}

}  // namespace nj

#else

namespace nj {

CodePages::CodePages(CodePages&&) noexcept {}
CodePages::~CodePages() = default;

uint64_t load_object_file(const char*, size_t, const char*, const SymbolTable&, CodePages&, std::string& problem) {
  problem = "this system's objects are linked by LLVM";
  return 0;
}

}  // namespace nj

#endif
