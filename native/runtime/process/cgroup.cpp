// Limits of control groups, read once. /proc/self/cgroup lists the groups of this process, /proc/self/mountinfo where their
// files are; a limit of any group holds for those within.
#include "runtime/process/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace nj {

namespace {

struct Mount {
  std::string group, place, kind, options;  // which group is mounted where; cgroup or cgroup2; its controllers
};

std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, word;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.group >> mount.place;
    while (words >> word && word != "-") continue;
    words >> mount.kind >> skipped >> mount.options;
    if (mount.kind == "cgroup" || mount.kind == "cgroup2") mounts.push_back(mount);
  }
  return mounts;
}

bool lists(const std::string& names, const std::string& name) {
  return ("," + names + ",").find("," + name + ",") != std::string::npos;
}

// The number in a file, or the default: also for "max" and negative ones.
double number(const std::string& path, double otherwise) {
  double value;
  return std::ifstream(path) >> value && value >= 0 ? value : otherwise;
}

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Limits {
  double processors = kNone, memory = kNone;

  void read_version_1(const std::string& folder) {
    const double quota = number(folder + "/cpu.cfs_quota_us", kNone), period = number(folder + "/cpu.cfs_period_us", 0);
    if (period > 0) processors = std::min(processors, quota / period);
    memory = std::min(memory, number(folder + "/memory.limit_in_bytes", kNone));
  }

  void read_version_2(const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    double quota, period;
    if (file >> quota >> period && period > 0) processors = std::min(processors, quota / period);
    // Beyond memory.high a group is slowed down until it gives memory back.
    for (const char* limit : {"/memory.max", "/memory.high"}) memory = std::min(memory, number(folder + limit, kNone));
  }

  // A group and all around it. In a container the mount shows a part of the tree, or the group lies outside of it.
  void read(const std::string& root, const Mount& mount, std::string group) {
    if (mount.group != "/" && group.compare(0, mount.group.size(), mount.group) == 0) group.erase(0, mount.group.size());
    for (;;) {
      while (!group.empty() && group.back() == '/') group.pop_back();
      std::string folder = root;
      folder += mount.place;
      folder += group;
      mount.kind == "cgroup" ? read_version_1(folder) : read_version_2(folder);
      if (group.empty()) return;
      group.erase(std::min(group.size(), group.rfind('/') == std::string::npos ? 0 : group.rfind('/')));
    }
  }
};

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  const std::vector<Mount> mounts = read_mounts(root);
  Limits found;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    for (const Mount& mount : mounts) {
      const bool same = controllers.empty()
                            ? mount.kind == "cgroup2"
                            : mount.kind == "cgroup" && ((lists(controllers, "cpu") && lists(mount.options, "cpu")) ||
                                                         (lists(controllers, "memory") && lists(mount.options, "memory")));
      if (same) found.read(root, mount, group);
    }
  }
  CgroupLimits limits;
  limits.processors = found.processors;
  // Version 1 says 2^63 for none.
  if (found.memory < 9e18) limits.memory_bytes = size_t(found.memory);
  return limits;
}

}  // namespace nj
