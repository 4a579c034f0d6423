// Cache sizes from Linux's cacheinfo: one folder per cache of a processor, one file per property.
#include "runtime/process/caches.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace nj {

namespace {

constexpr int kMostCaches = 16;

std::string word(const std::string& path) {
  std::string found;
  std::ifstream(path) >> found;
  return found;
}

// A number, such as 8 or 32K; 0 for anything else.
int64_t number(const std::string& path) {
  std::istringstream text(word(path));
  int64_t value = 0;
  char unit = ' ';
  if (!(text >> value) || value < 0) return 0;
  text >> unit;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

// How many processors a list names, such as 0-3,8; at least 1.
int64_t processors(const std::string& path) {
  std::istringstream ranges(word(path));
  int64_t count = 0;
  for (std::string range; std::getline(ranges, range, ',');) {
    std::istringstream ends(range);
    int64_t first = 0, last = 0;
    char dash;
    if (!(ends >> first)) continue;
    count += ends >> dash >> last ? std::max<int64_t>(1, last - first + 1) : 1;
  }
  return std::max<int64_t>(1, count);
}

// Keeps what was there for sizes that no data cache has.
void set(int64_t& size, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) size = found;
}

}  // namespace

Caches read_caches(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/cpu/cpu0/";
  const int64_t of_core = processors(folder + "topology/thread_siblings_list");
  Caches found;
  int64_t largest = 0;
  for (int k = 0; k < kMostCaches; ++k) {
    const std::string cache = folder + "cache/index" + std::to_string(k) + "/", type = word(cache + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    const int64_t level = number(cache + "level"), size = number(cache + "size");
    const int64_t cores = std::max<int64_t>(1, processors(cache + "shared_cpu_list") / of_core);
    largest = std::max(largest, size);
    if (level == 1) {
      set(found.line, number(cache + "coherency_line_size"), 16, 256);
      set(found.l1, size / cores, 4 << 10, 1 << 20);
    } else if (level == 2) {
      set(found.l2, size / cores, 64 << 10, 64 << 20);
      set(found.l2_way, size / std::max<int64_t>(1, number(cache + "ways_of_associativity")), 4 << 10, 64 << 20);
    }
  }
  set(found.last_level, largest, found.l2, int64_t{4} << 30);
  return found;
}

const Caches& caches() {
  static const Caches found = read_caches("");
  return found;
}

}  // namespace nj
