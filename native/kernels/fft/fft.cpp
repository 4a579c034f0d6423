// Discrete Fourier transforms of rows and columns, of any length, in float and double. No Python here.
//
// Many short sequences are transformed side by side, one per lane of a vector register; a long one is split into many short
// ones (plan.h). Real sequences of even length: a complex transform of half the length (C. Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", 1992, section 4.3). Work is shared among threads by groups of lanes, so
// results do not depend on the number of threads.
#include <algorithm>
#include <cstring>

#include "kernels/fft/plan.h"
#include "kernels/registry.h"
#include "runtime/threads/parallel.h"

using nj::Workspace;

namespace nj::fft {

template <class T> const T* transform_lanes(const LanePlan<T>& plan, const T* in, T* a, T* b) {
  return lane_functions<T>().transform(plan.stages.data(), static_cast<int64_t>(plan.stages.size()), in, a, b);
}

// How a sequence of n1 n2 elements is cut: groups of neighbouring columns, and blocks of rows; and the numbers that are
// kept for a while.
struct Split {
  int64_t lanes, n1, n2;
  int64_t groups = (n2 + lanes - 1) / lanes, blocks = (n1 + lanes - 1) / lanes;

  int64_t middle_size() const { return 2 * lanes * blocks * n2; }
  int64_t column_size() const { return 2 * 2 * lanes * n1; }
  int64_t row_size() const { return 2 * lanes * n2; }
};

// The two passes over a split sequence: groups of columns, and blocks of rows, whose results are written as columns again.
// Between them stands a lane array for each block.
template <class T> struct SplitRow {
  const LaneFunctions<T>& lane = lane_functions<T>();
  const SplitPlan<T>& plan;
  bool inverse;
  T scale;
  Split split{lane.lanes, plan.n1, plan.n2};

  void columns(int64_t g, const T* in, T* middle, T* work) const {
    const int64_t first = g * lane.lanes, n1 = plan.n1, width = std::min(lane.lanes, plan.n2 - first);
    lane.load_columns(in + 2 * first, n1, plan.n2, width, inverse, work);
    const T* found = transform_lanes(*plan.first, work, work, work + 2 * lane.lanes * n1);
    T* to = middle + 2 * lane.lanes * first;
    lane.turn(found, n1, plan.n2, width, plan.lane_roots.data(), &plan.group_roots[2 * g * n1], to);
  }

  void rows(int64_t b, T* middle, T* out, T* work) const {
    const int64_t first = b * lane.lanes, width = std::min(lane.lanes, plan.n1 - first);
    T* a = middle + 2 * first * plan.n2;
    const T* found = transform_lanes(*plan.second, a, a, work);
    lane.store_columns(found, plan.n2, plan.n1, width, inverse, scale, out + 2 * first);
  }
};

template <class T> void split_row(const SplitPlan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  const SplitRow<T> row{lane_functions<T>(), plan, inverse, scale};
  Workspace<T> middle(row.split.middle_size());
  parallel_for(row.split.groups, [&](int64_t g) {
    Workspace<T> work(row.split.column_size());
    row.columns(g, in, middle.data(), work.data());
  });
  parallel_for(row.split.blocks, [&](int64_t b) {
    Workspace<T> work(row.split.row_size());
    row.rows(b, middle.data(), out, work.data());
  });
}
template void split_row(const SplitPlan<float>&, const float*, float*, bool, float);
template void split_row(const SplitPlan<double>&, const double*, double*, bool, double);

namespace {

constexpr int64_t kSharedFrom = 1 << 15;  // numbers of elements that are worth a thread's while

// Whether rows of smooth length are split, rather than transformed side by side: where both factors fill the lanes, that
// takes less memory, and turns numbers around only once.
template <class T> bool splits(int64_t n) {
  const int64_t lanes = lane_functions<T>().lanes;
  return n >= lanes * lanes;
}

// Pieces of `size` elements that one thread takes.
int64_t range_length(int64_t size) { return std::max<int64_t>(1, kSharedFrom / std::max<int64_t>(1, size)); }

// body(first, last) for ranges of `count` pieces of `size` elements, shared among threads when they are large enough.
template <class Body> void parallel_ranges(int64_t count, int64_t size, Body body) {
  const int64_t each = range_length(size);
  parallel_for((count + each - 1) / each, [&](int64_t c) { body(c * each, std::min(count, (c + 1) * each)); });
}

// Sequences that stand anywhere: `count` of them in an array of shape [outer, n, inner].
struct Layout {
  int64_t n, inner;
  int64_t start(int64_t k) const { return k / inner * n * inner + k % inner; }
};

// Between lane arrays and sequences first ... first + width - 1, one number at a time, with conversion.
template <class S, class T>
void gather(const S* from, Layout layout, int64_t first, int64_t width, int64_t lanes, bool swapped, T* to) {
  for (int64_t l = 0; l < lanes; ++l) {
    const S* at = from + 2 * layout.start(l < width ? first + l : first);
    for (int64_t k = 0; k < layout.n; ++k, at += 2 * layout.inner) {
      to[2 * lanes * k + l] = at[swapped];
      to[2 * lanes * k + lanes + l] = at[!swapped];
    }
  }
}

template <class S, class T>
void scatter(const S* from, Layout layout, int64_t first, int64_t width, int64_t lanes, bool swapped, S scale, T* to) {
  for (int64_t l = 0; l < width; ++l) {
    T* at = to + 2 * layout.start(first + l);
    for (int64_t k = 0; k < layout.n; ++k, at += 2 * layout.inner) {
      at[swapped] = static_cast<T>(from[2 * lanes * k + l] * scale);
      at[!swapped] = static_cast<T>(from[2 * lanes * k + lanes + l] * scale);
    }
  }
}

// Rows of n_in complex numbers to rows of n_out, as many side by side as there are lanes: transform(a, b) finds a group in a
// and returns where its results are, a or b.
template <class T, class Transform>
void rows_side_by_side(int64_t rows, int64_t n_in, int64_t n_out, const T* in, T* out, bool swap_in, bool swap_out, T scale,
                       Transform transform) {
  const LaneFunctions<T>& lane = lane_functions<T>();
  const int64_t lanes = lane.lanes, room = 2 * lanes * std::max(n_in, n_out);
  parallel_ranges((rows + lanes - 1) / lanes, std::min(n_in, n_out) * lanes, [&](int64_t begin, int64_t end) {
    Workspace<T> a(room), b(room);
    for (int64_t first = begin * lanes; first < std::min(rows, end * lanes); first += lanes) {
      const T* from[kMaxLanes];
      T* to[kMaxLanes];
      const int64_t width = std::min(lanes, rows - first);
      // The last row is repeated where some are missing.
      for (int64_t l = 0; l < lanes; ++l) from[l] = in + 2 * n_in * (first + std::min(l, width - 1));
      for (int64_t l = 0; l < width; ++l) to[l] = out + 2 * n_out * (first + l);
      lane.load_rows(from, n_in, swap_in, a.data());
      lane.store_rows(transform(a.data(), b.data()), n_out, width, swap_out, scale, to);
    }
  });
}

// ------------------------------------------------------------------------------------------- complex sequences

// Long rows share their own passes among threads, short ones are shared as a whole.
template <class T> void split_rows(int64_t rows, int64_t n, const T* in, T* out, bool inverse, T scale) {
  auto plan = split_plan<T>(n);
  if (n >= kSharedFrom) {
    for (int64_t row = 0; row < rows; ++row) split_row(*plan, in + 2 * n * row, out + 2 * n * row, inverse, scale);
    return;
  }
  const SplitRow<T> one{lane_functions<T>(), *plan, inverse, scale};
  parallel_ranges(rows, n, [&](int64_t begin, int64_t end) {
    const Split& split = one.split;
    Workspace<T> middle(split.middle_size()), work(std::max(split.column_size(), split.row_size()));
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t g = 0; g < split.groups; ++g) one.columns(g, in + 2 * n * row, middle.data(), work.data());
      for (int64_t b = 0; b < split.blocks; ++b) one.rows(b, middle.data(), out + 2 * n * row, work.data());
    }
  });
}

template <class T> void smooth_rows(int64_t rows, int64_t n, const T* in, T* out, bool inverse, T scale) {
  if (splits<T>(n)) return split_rows(rows, n, in, out, inverse, scale);
  auto plan = lane_plan<T>(n);
  rows_side_by_side(rows, n, n, in, out, inverse, inverse, scale, [&](T* a, T* b) { return transform_lanes(*plan, a, a, b); });
}

// Sequences that stand side by side are transformed in groups of lanes within spans of neighbours; where there are few, from
// several of the outer positions.
struct ColumnGroups {
  bool neighbours;
  int64_t span, per_span;
};

ColumnGroups column_groups(int64_t outer, int64_t inner, int64_t lanes) {
  const bool neighbours = 2 * inner >= lanes;
  const int64_t span = neighbours ? inner : outer * inner;
  return {neighbours, span, (span + lanes - 1) / lanes};
}

template <class T> void smooth_columns(int64_t outer, Layout layout, const T* in, T* out, bool inverse, T scale) {
  const LaneFunctions<T>& lane = lane_functions<T>();
  const int64_t n = layout.n, inner = layout.inner, lanes = lane.lanes;
  auto plan = lane_plan<T>(n);
  const ColumnGroups groups = column_groups(outer, inner, lanes);
  const int64_t span = groups.span, per_span = groups.per_span;
  const bool neighbours = groups.neighbours;
  parallel_ranges(outer * inner / span * per_span, n * lanes, [&](int64_t begin, int64_t end) {
    Workspace<T> a(2 * lanes * n), b(2 * lanes * n);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g / per_span * span + g % per_span * lanes;
      const int64_t width = std::min(lanes, span - g % per_span * lanes), start = 2 * layout.start(first);
      if (neighbours) lane.load_columns(in + start, n, inner, width, inverse, a.data());
      else gather(in, layout, first, width, lanes, inverse, a.data());
      const T* found = transform_lanes(*plan, a.data(), a.data(), b.data());
      if (neighbours) lane.store_columns(found, n, inner, width, inverse, scale, out + start);
      else scatter(found, layout, first, width, lanes, inverse, scale, out);
    }
  });
}

// By convolutions with a chirp (Bluestein's algorithm), sequences side by side: multiply, transform, multiply by the
// filter, transform back, multiply.
template <class T>
void chirp_lanes(const ChirpPlan& plan, Layout layout, int64_t count, const T* in, T* out, bool inverse, double scale) {
  const LaneFunctions<double>& lane = lane_functions<double>();
  const int64_t lanes = lane.lanes, n = plan.n, m = plan.m;
  auto inner = lane_plan<double>(m);
  parallel_ranges((count + lanes - 1) / lanes, m * lanes, [&](int64_t begin, int64_t end) {
    Workspace<double> a(2 * lanes * m), b(2 * lanes * m);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * lanes, width = std::min(lanes, count - first);
      gather(in, layout, first, width, lanes, inverse, a.data());
      lane.multiply(a.data(), plan.chirp.data(), n);
      std::fill(a.data() + 2 * lanes * n, a.data() + 2 * lanes * m, 0.0);
      auto* found = const_cast<double*>(transform_lanes(*inner, a.data(), a.data(), b.data()));
      lane.multiply_swapped(found, plan.filter.data(), m);
      found = const_cast<double*>(transform_lanes(*inner, found, found, found == a.data() ? b.data() : a.data()));
      lane.multiply_conjugate(found, plan.chirp.data(), n);
      scatter(found, layout, first, width, lanes, !inverse, scale, out);
    }
  });
}

void multiply_row(double* x, const double* table, int64_t n) {
  constexpr int64_t piece = 1024;
  parallel_ranges((n + piece - 1) / piece, piece, [=](int64_t begin, int64_t end) {
    const int64_t first = piece * begin, last = std::min(n, piece * end);
    lane_functions<double>().multiply_row(x + 2 * first, table + 2 * first, last - first);
  });
}

// The same for one sequence, whose transforms are split.
template <class T>
void chirp_row(const ChirpPlan& plan, Layout layout, int64_t index, const T* in, T* out, bool inverse, double scale) {
  Workspace<double> a(2 * plan.m), b(2 * plan.m);
  auto inner = split_plan<double>(plan.m);
  gather(in, layout, index, 1, 1, inverse, a.data());
  multiply_row(a.data(), plan.chirp.data(), plan.n);
  std::fill(a.data() + 2 * plan.n, a.data() + 2 * plan.m, 0.0);
  split_row(*inner, a.data(), b.data(), false, 1.0);
  multiply_row(b.data(), plan.filter.data(), plan.m);
  split_row(*inner, b.data(), a.data(), true, 1.0);
  multiply_row(a.data(), plan.chirp.data(), plan.n);
  scatter(a.data(), layout, index, 1, 1, inverse, scale, out);
}

// Whether `count` convolutions of length m are made side by side.
bool chirps_in_lanes(int64_t count, int64_t m) {
  constexpr int64_t longest = 4096;
  return m <= longest && (2 * count >= lane_functions<double>().lanes || !splits<double>(m));
}

template <class T> void chirp_sequences(int64_t count, Layout layout, const T* in, T* out, bool inverse, double scale) {
  auto plan = chirp_plan(layout.n);
  if (chirps_in_lanes(count, plan->m)) return chirp_lanes(*plan, layout, count, in, out, inverse, scale);
  const auto one = [&](int64_t k) { chirp_row(*plan, layout, k, in, out, inverse, scale); };
  if (plan->m < kSharedFrom) return parallel_for(count, one);
  for (int64_t k = 0; k < count; ++k) one(k);
}

// Complex to complex along the middle of three axes; results are multiplied by scale.
template <class T>
void complex_axis(bool inverse, int64_t outer, int64_t n, int64_t inner, const T* in, T* out, double scale) {
  if (!is_smooth(n)) chirp_sequences(outer * inner, {n, inner}, in, out, inverse, scale);
  else if (inner == 1) smooth_rows(outer, n, in, out, inverse, static_cast<T>(scale));
  else smooth_columns(outer, {n, inner}, in, out, inverse, static_cast<T>(scale));
}

// ------------------------------------------------------------------------------------------- real sequences

// Rows of length 2 m to rows of m + 1 coefficients.
template <class T> void real_rows_side_by_side(int64_t rows, int64_t m, const T* in, T* out) {
  auto plan = lane_plan<T>(m);
  auto roots = half_roots<T>(2 * m);
  rows_side_by_side(rows, m, m + 1, in, out, false, false, T(1), [&](T* a, T* b) {
    const T* found = transform_lanes(*plan, a, a, b);
    T* result = found == a ? b : a;
    lane_functions<T>().untangle(found, m, roots->roots.data(), result);
    return result;
  });
}

template <class T> void hermitian_rows_side_by_side(int64_t rows, int64_t m, const T* in, T* out) {
  auto plan = lane_plan<T>(m);
  auto roots = half_roots<T>(2 * m);
  rows_side_by_side(rows, m + 1, m, in, out, false, true, T(1) / static_cast<T>(2 * m), [&](T* a, T* b) {
    lane_functions<T>().tangle_swapped(a, m, roots->roots.data(), b);
    return transform_lanes(*plan, b, b, a);
  });
}

// Rows of n real numbers to their first n / 2 + 1 coefficients.
template <class T> void real_rows(int64_t rows, int64_t n, const T* in, T* out) {
  const int64_t half = n / 2;
  if (n % 2 != 0) {
    Workspace<T> z(2 * n * rows), f(2 * n * rows);
    for (int64_t k = 0; k < n * rows; ++k) z.data()[2 * k] = in[k], z.data()[2 * k + 1] = T(0);
    complex_axis(false, rows, n, 1, z.data(), f.data(), 1.0);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(f.data() + 2 * n * row, 2 * (half + 1), out + 2 * (half + 1) * row);
      out[2 * (half + 1) * row + 1] = T(0);
    }
    return;
  }
  if (is_smooth(half) && !splits<T>(half)) return real_rows_side_by_side(rows, half, in, out);
  Workspace<T> f(n * rows);
  auto roots = half_roots<T>(n);
  complex_axis(false, rows, half, 1, in, f.data(), 1.0);
  parallel_ranges(rows, half, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      lane_functions<T>().untangle_row(f.data() + n * row, half, roots->roots.data(), out + 2 * (half + 1) * row);
  });
}

// n / 2 + 1 coefficients to rows of n real numbers; the imaginary parts of the first, and of the one at n / 2, count as 0.
template <class T> void hermitian_rows(int64_t rows, int64_t n, const T* in, T* out) {
  const int64_t half = n / 2, length = 2 * (half + 1);
  if (n % 2 != 0) {
    Workspace<T> z(2 * n * rows), f(2 * n * rows);
    for (int64_t row = 0; row < rows; ++row) {
      T* to = z.data() + 2 * n * row;
      std::copy_n(in + length * row, length, to);
      to[1] = T(0);
      for (int64_t k = 1; k <= half; ++k) to[2 * (n - k)] = to[2 * k], to[2 * (n - k) + 1] = -to[2 * k + 1];
    }
    complex_axis(true, rows, n, 1, z.data(), f.data(), 1.0 / static_cast<double>(n));
    for (int64_t k = 0; k < n * rows; ++k) out[k] = f.data()[2 * k];
    return;
  }
  if (is_smooth(half) && !splits<T>(half)) return hermitian_rows_side_by_side(rows, half, in, out);
  Workspace<T> z(n * rows);
  auto roots = half_roots<T>(n);
  parallel_ranges(rows, half, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      lane_functions<T>().tangle_row(in + length * row, half, roots->roots.data(), z.data() + n * row);
  });
  complex_axis(true, rows, half, 1, z.data(), out, 1.0 / static_cast<double>(n));
}

// ------------------------------------------------------------------------------------------- memory
// Bytes that the functions above take with so many threads. Plans, which later transforms use again, do not count.

// Two lane arrays of `length` elements for each thread that works on ranges of `count` groups of lanes.
template <class T> int64_t lanes_bytes(int64_t threads, int64_t count, int64_t n, int64_t length) {
  const int64_t lanes = lane_functions<T>().lanes, each = range_length(n * lanes);
  return 2 * std::min(threads, (count + each - 1) / each) * Workspace<T>::taken(2 * lanes * length);
}

template <class T> Split split_of(int64_t n) {
  const int64_t n1 = middle_divisor(n);
  return {lane_functions<T>().lanes, n1, n / n1};
}

template <class T> int64_t split_row_bytes(int64_t threads, int64_t n) {
  const Split split = split_of<T>(n);
  return Workspace<T>::taken(split.middle_size()) +
         std::max(std::min(threads, split.groups) * Workspace<T>::taken(split.column_size()),
                  std::min(threads, split.blocks) * Workspace<T>::taken(split.row_size()));
}

template <class T> int64_t smooth_rows_bytes(int64_t threads, int64_t rows, int64_t n) {
  const int64_t lanes = lane_functions<T>().lanes;
  if (!splits<T>(n)) return lanes_bytes<T>(threads, (rows + lanes - 1) / lanes, n, n);
  if (n >= kSharedFrom) return rows ? split_row_bytes<T>(threads, n) : 0;
  const Split split = split_of<T>(n);
  const int64_t each = range_length(n), work = std::max(split.column_size(), split.row_size());
  return std::min(threads, (rows + each - 1) / each) * (Workspace<T>::taken(split.middle_size()) + Workspace<T>::taken(work));
}

int64_t chirp_bytes(int64_t threads, int64_t count, int64_t n) {
  const int64_t m = power_of_two(2 * n - 1), lanes = lane_functions<double>().lanes;
  if (chirps_in_lanes(count, m)) return lanes_bytes<double>(threads, (count + lanes - 1) / lanes, m, m);
  const int64_t together = m < kSharedFrom ? std::min(threads, count) : std::min<int64_t>(1, count);
  return together * (2 * Workspace<double>::taken(2 * m) + split_row_bytes<double>(together > 1 ? 1 : threads, m));
}

template <class T> int64_t complex_bytes(int64_t threads, int64_t outer, int64_t n, int64_t inner) {
  if (outer * inner == 0) return 0;
  if (!is_smooth(n)) return chirp_bytes(threads, outer * inner, n);
  if (inner == 1) return smooth_rows_bytes<T>(threads, outer, n);
  const ColumnGroups groups = column_groups(outer, inner, lane_functions<T>().lanes);
  return lanes_bytes<T>(threads, outer * inner / groups.span * groups.per_span, n, n);
}

template <class T> int64_t real_bytes(int64_t threads, int64_t rows, int64_t n) {
  const int64_t half = n / 2, lanes = lane_functions<T>().lanes;
  if (n % 2 != 0) return 2 * Workspace<T>::taken(2 * n * rows) + complex_bytes<T>(threads, rows, n, 1);
  if (is_smooth(half) && !splits<T>(half)) return lanes_bytes<T>(threads, (rows + lanes - 1) / lanes, half, half + 1);
  return Workspace<T>::taken(n * rows) + complex_bytes<T>(threads, rows, half, 1);
}

// body(the arrays as arrays of the type); 0.
template <class Body> int64_t by_width(int64_t wide, const char* in, char* out, Body body) {
  if (wide) body(reinterpret_cast<const double*>(in), reinterpret_cast<double*>(out));
  else body(reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out));
  return 0;
}

}  // namespace
}  // namespace nj::fft

using namespace nj::fft;

// out = the transform of in[outer, n, inner] along n; `wide`: double; inverse ones are divided by n.
extern "C" int64_t nj_fft_complex(int64_t wide, int64_t inverse, int64_t outer, int64_t n, int64_t inner, const char* in,
                                  char* out) {
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
  return by_width(wide, in, out, [=](auto from, auto to) { complex_axis(inverse, outer, n, inner, from, to, scale); });
}
NJ_KERNEL(nj_fft_complex);

extern "C" int64_t nj_fft_complex_bytes(int64_t threads, int64_t wide, int64_t, int64_t outer, int64_t n, int64_t inner,
                                        const char*, char*) {
  return wide ? complex_bytes<double>(threads, outer, n, inner) : complex_bytes<float>(threads, outer, n, inner);
}
NJ_KERNEL(nj_fft_complex_bytes);

extern "C" int64_t nj_fft_real(int64_t wide, int64_t rows, int64_t n, const char* in, char* out) {
  return by_width(wide, in, out, [=](auto from, auto to) { real_rows(rows, n, from, to); });
}
NJ_KERNEL(nj_fft_real);

extern "C" int64_t nj_fft_real_bytes(int64_t threads, int64_t wide, int64_t rows, int64_t n, const char*, char*) {
  return wide ? real_bytes<double>(threads, rows, n) : real_bytes<float>(threads, rows, n);
}
NJ_KERNEL(nj_fft_real_bytes);

extern "C" int64_t nj_fft_hermitian(int64_t wide, int64_t rows, int64_t n, const char* in, char* out) {
  return by_width(wide, in, out, [=](auto from, auto to) { hermitian_rows(rows, n, from, to); });
}
NJ_KERNEL(nj_fft_hermitian);

extern "C" int64_t nj_fft_hermitian_bytes(int64_t threads, int64_t wide, int64_t rows, int64_t n, const char*, char*) {
  return wide ? real_bytes<double>(threads, rows, n) : real_bytes<float>(threads, rows, n);
}
NJ_KERNEL(nj_fft_hermitian_bytes);
