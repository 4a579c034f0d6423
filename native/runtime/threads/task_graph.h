// Tasks that wait for one another, inside of one loop over all threads. No Python in here.
//
// Tasks are numbered so that each waits for smaller numbers only. Threads claim them in order, so the smallest unfinished
// one never waits in vain, and a thread that waits leaves the others at work: no barrier stands between the steps of an
// algorithm, as it would between loops. That holds as nj_parallel_for leaves out no task.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "runtime/threads/parallel.h"

namespace nj {

// How far each of some items has come: numbers that grow from 0.
class Progress {
 public:
  explicit Progress(int64_t items) : stages_(new std::atomic<int64_t>[std::max<int64_t>(items, 1)]()) {}
  void reach(int64_t item, int64_t stage) { stages_[item].store(stage, std::memory_order_release); }

  // Throws std::bad_alloc when a task that others wait for did.
  void wait(int64_t item, int64_t stage) const {
    constexpr int64_t spins = 4000;
    for (int64_t k = 0; k < spins; ++k)
      if (reached(item, stage)) return;
    yield_until([&] { return reached(item, stage); });
  }

  // body(task) for tasks 0 ... count - 1, shared among threads.
  template <class Body> void run(int64_t count, Body body) {
    parallel_for(count, [&](int64_t task) {
      try {
        body(task);
      } catch (const std::exception&) {
        failed_.store(true);
        throw;
      }
    });
  }

 private:
  bool reached(int64_t item, int64_t stage) const {
    if (stages_[item].load(std::memory_order_acquire) >= stage) return true;
    if (failed_.load(std::memory_order_relaxed)) throw std::bad_alloc();
    return false;
  }
  std::unique_ptr<std::atomic<int64_t>[]> stages_;
  std::atomic<bool> failed_{false};
};

// The columns 0 ... columns - 1 as strips of at most `width`, the first `panels` of which make up the first `factored`.
struct Strips {
  int64_t factored, columns, width, panels, count;
  Strips(int64_t factored_columns, int64_t all_columns, int64_t strip)
      : factored(factored_columns),
        columns(all_columns),
        width(strip),
        panels((factored + strip - 1) / strip),
        count(panels + (columns - factored + strip - 1) / strip) {}
  int64_t first(int64_t s) const { return s < panels ? s * width : std::min(columns, factored + (s - panels) * width); }
  int64_t size(int64_t s) const { return std::min(width, (s < panels ? factored : columns) - first(s)); }
};

// The order of a right-looking factorization: factor(s) for each panel, and update(s, p) for each strip s after panel p.
// The next panel is updated and factored first, while other threads update the strips behind it.
template <class Factor, class Update> void factor_strips(const Strips& strips, Factor factor, Update update) {
  if (strips.panels == 0) return;
  Progress progress(strips.count);
  const auto factor_panel = [&](int64_t p) {
    progress.wait(p, p);
    factor(p);
    progress.reach(p, p + 1);
  };
  const auto update_strip = [&](int64_t s, int64_t p) {
    progress.wait(s, p);
    progress.wait(p, p + 1);
    update(s, p);
    progress.reach(s, p + 1);
  };
  // Task 0 factors the first panel; then, after each panel p: one task for the strip behind it, which also factors it
  // where it is a panel, and one for each other strip.
  const int64_t n = strips.count;
  const int64_t tasks = 1 + strips.panels * (n - 1) - strips.panels * (strips.panels - 1) / 2;
  progress.run(tasks, [&](int64_t task) {
    if (task == 0) return factor_panel(0);
    int64_t p = 0, index = task - 1;
    while (index >= n - 1 - p) index -= n - 1 - p++;
    const int64_t s = p + 1 + index;
    update_strip(s, p);
    if (s == p + 1 && s < strips.panels) factor_panel(s);
  });
}

}  // namespace nj
