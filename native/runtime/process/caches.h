// Sizes of the data caches, for whatever chooses blocks by them. Python's view is numjet/cpu/target.py.
#pragma once
#include <cstdint>
#include <string>

namespace nj {

// The defaults are those of a typical server; they stand for whatever the system does not tell.
struct Caches {
  int64_t line = 64;              // bytes of a line
  int64_t l1 = 32 << 10;          // bytes of the first level, of one core
  int64_t l2 = 1 << 20;           // of the second, of one core: cores that share a cache get equal parts
  int64_t l2_way = 128 << 10;     // bytes after which lines compete for one set of the second level
  int64_t last_level = 32 << 20;  // of the largest cache, which cores share
};

// Those of the first processor, as Linux lists them below /sys. `root` is put in front of all paths, for tests.
Caches read_caches(const std::string& root);

// Those of this machine, read once.
const Caches& caches();

}  // namespace nj
