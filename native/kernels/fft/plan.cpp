// See plan.h.
#include "kernels/fft/plan.h"

#include <cmath>
#include <map>
#include <mutex>
#include <typeindex>
#include <utility>

namespace nj::fft {

Root unit(int64_t t, int64_t n) {
  int64_t octant = 8 * t / n, rest = 8 * t - octant * n;
  if (octant & 1) rest = n - rest;
  double angle = 0.78539816339744830962 * (static_cast<double>(rest) / static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

bool is_smooth(int64_t n) {
  for (int64_t p = 2; p <= kMaxRadix; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

int64_t power_of_two(int64_t least) {
  int64_t m = 1;
  while (m < least) m *= 2;
  return m;
}

int64_t middle_divisor(int64_t n) {
  int64_t d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d != 0) --d;
  return d;
}

namespace {

// Eights, with fours at the end where the power of two demands it, then the odd primes.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  while (twos >= 3 && twos != 4) radices.push_back(8), twos -= 3;
  while (twos >= 2) radices.push_back(4), twos -= 2;
  if (twos) radices.push_back(2);
  for (int64_t p = 3; n > 1; p += 2)
    for (; n % p == 0; n /= p) radices.push_back(p);
  return radices;
}

template <class T> void put_root(T* to, int64_t t, int64_t n) {
  const Root w = unit(t, n);
  to[0] = static_cast<T>(w.re);
  to[1] = static_cast<T>(-w.im);
}

template <class T> std::vector<T> twiddles(int64_t p, int64_t m) {
  std::vector<T> table(2 * (p - 1) * m);
  for (int64_t q = 0; q < m; ++q)
    for (int64_t k = 1; k < p; ++k) put_root(&table[2 * ((p - 1) * q + k - 1)], q * k, p * m);
  return table;
}

template <class T> std::vector<T> small_roots(int64_t p) {
  std::vector<T> table(2 * p);
  for (int64_t t = 0; t < p; ++t) {
    const Root w = unit(t, p);
    table[2 * t] = static_cast<T>(w.re);
    table[2 * t + 1] = static_cast<T>(w.im);
  }
  return table;
}

}  // namespace

template <class T> LanePlan<T>::LanePlan(int64_t size) : n(size) {
  int64_t left = n, s = 1;
  for (int64_t p : radices_of(n)) {
    const int64_t m = left / p;
    tables.push_back(twiddles<T>(p, m));
    Stage<T> stage{p, m, s, tables.back().data(), nullptr};
    if (p > 8) {
      tables.push_back(small_roots<T>(p));
      stage.roots = tables.back().data();
    }
    stages.push_back(stage);
    left = m;
    s *= p;
  }
}

template <class T> int64_t LanePlan<T>::bytes() const {
  int64_t total = 0;
  for (const auto& table : tables) total += sizeof(T) * table.size();
  return total;
}

template <class T> SplitPlan<T>::SplitPlan(int64_t size) : n(size), n1(middle_divisor(size)), n2(size / n1) {
  first = lane_plan<T>(n1);
  second = lane_plan<T>(n2);
  const int64_t lanes = lane_functions<T>().lanes, groups = (n2 + lanes - 1) / lanes;
  lane_roots.resize(2 * lanes * n1);
  group_roots.resize(2 * groups * n1);
  for (int64_t k = 0; k < n1; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      T w[2];
      put_root(w, k * l % n, n);
      lane_roots[2 * lanes * k + l] = w[0];
      lane_roots[2 * lanes * k + lanes + l] = w[1];
    }
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t k = 0; k < n1; ++k) put_root(&group_roots[2 * (g * n1 + k)], k * g * lanes % n, n);
}

template <class T> int64_t SplitPlan<T>::bytes() const { return sizeof(T) * (lane_roots.size() + group_roots.size()); }

ChirpPlan::ChirpPlan(int64_t size) : n(size), m(power_of_two(2 * size - 1)), chirp(2 * size), filter(2 * m) {
  std::vector<double> sequence(2 * m);
  for (int64_t k = 0; k < n; ++k) {
    const auto square = static_cast<uint64_t>(k) * static_cast<uint64_t>(k) % static_cast<uint64_t>(2 * n);
    put_root(&chirp[2 * k], static_cast<int64_t>(square), 2 * n);
    for (int64_t at : {k, (m - k) % m}) {
      sequence[2 * at] = chirp[2 * k];
      sequence[2 * at + 1] = -chirp[2 * k + 1];
    }
  }
  split_row(*split_plan<double>(m), sequence.data(), filter.data(), false, 1.0 / static_cast<double>(m));
}

int64_t ChirpPlan::bytes() const { return sizeof(double) * (chirp.size() + filter.size()); }

template <class T> HalfRoots<T>::HalfRoots(int64_t n) : roots(2 * (n / 2 + 1)) {
  for (int64_t k = 0; k <= n / 2; ++k) put_root(&roots[2 * k], k, n);
}

template <class T> int64_t HalfRoots<T>::bytes() const { return sizeof(T) * roots.size(); }

// ------------------------------------------------------------------------------------------- the cache

namespace {

constexpr int64_t kMostBytes = int64_t(128) << 20;

struct Cache {
  std::mutex mutex;
  std::map<std::pair<std::type_index, int64_t>, std::shared_ptr<const void>> plans;
  int64_t bytes = 0;
};

// Never destroyed: threads may still compute while the process ends.
Cache& cache = *new Cache;

// A thread that finds the cache in use (or a forked child whose parent's thread had it) makes a plan of its own.
template <class P> std::shared_ptr<const P> cached(int64_t n) {
  const auto key = std::make_pair(std::type_index(typeid(P)), n);
  {
    std::unique_lock<std::mutex> lock(cache.mutex, std::try_to_lock);
    if (lock) {
      auto found = cache.plans.find(key);
      if (found != cache.plans.end()) return std::static_pointer_cast<const P>(found->second);
    }
  }
  auto plan = std::make_shared<const P>(n);
  std::unique_lock<std::mutex> lock(cache.mutex, std::try_to_lock);
  if (!lock || plan->bytes() > kMostBytes) return plan;
  if (cache.bytes + plan->bytes() > kMostBytes) cache.plans.clear(), cache.bytes = 0;
  if (cache.plans.emplace(key, plan).second) cache.bytes += plan->bytes();
  return plan;
}

}  // namespace

template <class T> std::shared_ptr<const LanePlan<T>> lane_plan(int64_t n) { return cached<LanePlan<T>>(n); }
template <class T> std::shared_ptr<const SplitPlan<T>> split_plan(int64_t n) { return cached<SplitPlan<T>>(n); }
std::shared_ptr<const ChirpPlan> chirp_plan(int64_t n) { return cached<ChirpPlan>(n); }
template <class T> std::shared_ptr<const HalfRoots<T>> half_roots(int64_t n) { return cached<HalfRoots<T>>(n); }

template std::shared_ptr<const LanePlan<float>> lane_plan(int64_t);
template std::shared_ptr<const LanePlan<double>> lane_plan(int64_t);
template std::shared_ptr<const SplitPlan<float>> split_plan(int64_t);
template std::shared_ptr<const SplitPlan<double>> split_plan(int64_t);
template std::shared_ptr<const HalfRoots<float>> half_roots(int64_t);
template std::shared_ptr<const HalfRoots<double>> half_roots(int64_t);

}  // namespace nj::fft
