// What the system's control groups (containers, batch systems) leave this process of the machine.
#pragma once
#include <cstddef>
#include <limits>
#include <string>

namespace nj {

struct CgroupLimits {
  double processors = std::numeric_limits<double>::infinity();  // time of all threads per time
  size_t memory_bytes = std::numeric_limits<size_t>::max();
};

// Of version 1 and 2, the least of all groups around. `root` is put in front of all paths, for tests.
CgroupLimits cgroup_limits(const std::string& root);

}  // namespace nj
