// Convolutions of long windows and few places, as gradients by kernels are: out[:, i] is a product of the operand, moved by i,
// and the weights, summed over all of a window. Each line of the operand is packed once, as rows of a product side by side along
// its places; for another place of the result the micro-kernel begins at another place of it. No matrix of patches is made.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "kernels/gemm/convolution.h"
#include "kernels/registry.h"
#include "runtime/memory/blocks.h"
#include "runtime/threads/parallel.h"

namespace nj::gemm {

namespace {

constexpr int64_t kParts = 16;        // of the sums at most, added up in order
constexpr int64_t kWorth = 1 << 19;   // multiply-adds of a part that is worth a thread
constexpr int64_t kSegment = 256;     // places of a line of the weights at once

// The weights' strides in elements.
struct Weights {
  const char* data;
  int64_t group, channel, feature, step[kRank];
};

// A line of the operand as it is wanted: places before and behind the operand are zeros.
struct Line {
  int64_t channel = -1, z = 0, y = 0, segment = 0;
  bool operator==(const Line& other) const {
    return channel == other.channel && z == other.z && y == other.y && segment == other.segment;
  }
};

// How a convolution is cut. An item is a segment of a line of the weights; each part has some, and sums of its own.
class Cut {
 public:
  explicit Cut(const Convolution& of) : x(of), kernel(ungrouped_kernel_of(of.code)) {
    segments = ceil_div(x.window[2], kSegment);
    segment = ceil_div(x.window[2], segments);
    items = x.channels * x.window[0] * segments * x.window[1];
    const int64_t work = items * segment * x.images * x.features * taps();
    parts = std::clamp<int64_t>(work / kWorth, 1, std::min(items, std::max<int64_t>(1, kParts / x.groups)));
    slivers = ceil_div(x.images, kernel.rows);
    ring = (x.out[1] - 1) * x.stride[1] + 1;
    for (int64_t i = 0; i < x.out[2]; ++i) {
      const int64_t phase = i * x.stride[2] % x.dilation[2];
      if (std::find(phases.begin(), phases.end(), phase) == phases.end()) phases.push_back(phase);
    }
    length = (x.out[2] - 1) * x.stride[2] / x.dilation[2] + segment;
  }

  int64_t taps() const { return x.out[0] * x.out[1] * x.out[2]; }
  int64_t first_image(int64_t sliver) const { return sliver * x.images / slivers; }
  int64_t sums_bytes() const { return taps() * x.images * x.features * kernel.result; }
  int64_t phase_bytes() const { return length * x.images * kernel.unit; }
  int64_t line_bytes() const { return static_cast<int64_t>(phases.size()) * phase_bytes(); }
  int64_t lines_bytes() const { return x.out[0] * ring * line_bytes(); }
  int64_t panels() const { return ceil_div(x.features, kernel.columns()); }
  int64_t panel_bytes() const { return kernel.columns() * segment * kernel.unit; }

  const Convolution& x;
  const Kernel& kernel;
  int64_t segments, segment, items, parts, slivers;
  int64_t ring;                 // lines of the operand that are in use at a time, for each place along the first axis
  int64_t length;               // places of a packed line of one phase
  std::vector<int64_t> phases;  // of places, modulo the dilation
};

// The sums of one part.
class Part {
 public:
  Part(const Cut& cut, const Weights& weights, const char* in, int64_t group, char* sums)
      : cut_(cut), x_(cut.x), kernel_(cut.kernel), w_(weights), in_(in + group * x_.in_group * kernel_.item), group_(group),
        sums_(sums), lines_(cut.lines_bytes()), panel_(cut.panel_bytes()), held_(x_.out[0] * cut.ring) {}

  void run(int64_t begin, int64_t end) {
    std::memset(sums_, 0, cut_.sums_bytes());
    for (int64_t item = begin; item < end; ++item) {
      k1_ = item % x_.window[1];
      segment_ = item / x_.window[1] % cut_.segments;
      k0_ = item / x_.window[1] / cut_.segments % x_.window[0];
      channel_ = item / x_.window[1] / cut_.segments / x_.window[0];
      first_ = segment_ * cut_.segment;
      steps_ = std::min(cut_.segment, x_.window[2] - first_);
      for (int64_t i0 = 0; i0 < x_.out[0]; ++i0)
        for (int64_t i1 = 0; i1 < x_.out[1]; ++i1) hold(i0, i1);
      for (int64_t q = 0; q < cut_.panels(); ++q) multiply(q);
    }
  }

 private:
  int64_t z_of(int64_t i0) const { return i0 * x_.stride[0] + k0_ * x_.dilation[0] - x_.low[0]; }
  int64_t y_of(int64_t i1) const { return i1 * x_.stride[1] + k1_ * x_.dilation[1] - x_.low[1]; }
  int64_t slot(int64_t i0, int64_t i1) const {
    return i0 * cut_.ring + (i1 * x_.stride[1] + k1_ * x_.dilation[1]) % cut_.ring;
  }

  // Packs the line that a place needs, unless it is there.
  void hold(int64_t i0, int64_t i1) {
    const int64_t where = slot(i0, i1);
    const Line line{channel_, z_of(i0), y_of(i1), segment_};
    if (held_[where] == line) return;
    held_[where] = line;
    for (size_t p = 0; p < cut_.phases.size(); ++p)
      pack(line, cut_.phases[p], lines_.data() + where * cut_.line_bytes() + static_cast<int64_t>(p) * cut_.phase_bytes());
  }

  // Images side by side, sliver by sliver, one place after the other: those at phase - low + place * dilation.
  void pack(const Line& line, int64_t phase, char* to) const {
    const int64_t dilation = x_.dilation[2], start = phase - x_.low[2] + first_ * dilation;
    const bool there = line.z >= 0 && line.z < x_.in[0] && line.y >= 0 && line.y < x_.in[1];
    const int64_t begin = std::clamp<int64_t>(ceil_div(std::max<int64_t>(-start, 0), dilation), 0, cut_.length);
    const int64_t end = there && x_.in[2] > start ? std::clamp<int64_t>(ceil_div(x_.in[2] - start, dilation), begin, cut_.length)
                                                  : begin;
    const char* from = in_ + (line.channel * x_.in_channel + line.z * x_.in_step[0] + line.y * x_.in_step[1] +
                              (start + begin * dilation) * x_.in_step[2]) * kernel_.item;
    for (int64_t s = 0; s < cut_.slivers; ++s) {
      const int64_t first = cut_.first_image(s), count = cut_.first_image(s + 1) - first, step = count * kernel_.unit;
      std::memset(to, 0, begin * step);
      if (end > begin)
        kernel_.pack_a(from + first * x_.in_image * kernel_.item, x_.in_image, dilation * x_.in_step[2], count, count, end - begin,
                       to + begin * step);
      std::memset(to + end * step, 0, (cut_.length - end) * step);
      to += cut_.length * step;
    }
  }

  // All places of the result, for one panel of features of one item.
  void multiply(int64_t q) const {
    const int64_t j = q * kernel_.columns(), columns = std::min(kernel_.columns(), x_.features - j);
    const int64_t vectors = ceil_div(columns, kernel_.lanes), width = vectors * kernel_.lanes, missing = columns < width;
    const char* from = w_.data + (group_ * w_.group + channel_ * w_.channel + k0_ * w_.step[0] + k1_ * w_.step[1] +
                                  first_ * w_.step[2] + j * w_.feature) * kernel_.item;
    kernel_.pack_b(from, w_.feature, w_.step[2], columns, width, steps_, panel_.data());
    char* c = sums_ + j * kernel_.result;
    for (int64_t i0 = 0; i0 < x_.out[0]; ++i0)
      for (int64_t i1 = 0; i1 < x_.out[1]; ++i1)
        for (int64_t i2 = 0; i2 < x_.out[2]; ++i2) {
          const int64_t place = i2 * x_.stride[2], start = place / x_.dilation[2];
          const auto phase = std::find(cut_.phases.begin(), cut_.phases.end(), place % x_.dilation[2]) - cut_.phases.begin();
          const char* a = lines_.data() + slot(i0, i1) * cut_.line_bytes() + phase * cut_.phase_bytes();
          for (int64_t s = 0; s < cut_.slivers; ++s) {
            const int64_t count = cut_.first_image(s + 1) - cut_.first_image(s), step = count * kernel_.unit;
            kernel_.micro[count][vectors][missing](steps_, a + start * step, count, panel_.data(), width * kernel_.unit, c,
                                                   x_.features * kernel_.result, columns, Into::add);
            a += cut_.length * step;
            c += count * x_.features * kernel_.result;
          }
        }
  }

  const Cut& cut_;
  const Convolution& x_;
  const Kernel& kernel_;
  const Weights& w_;
  const char* in_;
  int64_t group_;
  char* sums_;
  Workspace<char> lines_, panel_;
  std::vector<Line> held_;
  int64_t k0_, k1_, channel_, segment_, first_, steps_;
};

// Whether a line of both arrays follows the one before as a place does, with one place of the result: they are one long line.
bool lines_join(const Convolution& x, const Weights& w) {
  for (int axis : {1, 2})
    if (x.out[axis] != 1 || x.dilation[axis] != 1 || x.low[axis] != 0 || x.window[axis] != x.in[axis]) return false;
  return x.in_step[1] == x.in[2] * x.in_step[2] && w.step[1] == x.in[2] * w.step[2];
}

Convolution joined(Convolution x, const Weights& w) {
  if (!lines_join(x, w)) return x;
  x.window[2] *= x.window[1];
  x.in[2] = x.window[2];
  x.in[1] = x.window[1] = 1;
  return x;
}

// The parts' sums, in order, to where they belong.
template <class T> void add_up(const Cut& cut, const char* sums, char* out) {
  const Convolution& x = cut.x;
  const int64_t all = cut.sums_bytes() / static_cast<int64_t>(sizeof(T));
  const T* from = reinterpret_cast<const T*>(sums);
  parallel_for(x.groups * cut.taps(), [&](int64_t row) {
    const int64_t g = row / cut.taps(), tap = row % cut.taps();
    const int64_t i2 = tap % x.out[2], i1 = tap / x.out[2] % x.out[1], i0 = tap / x.out[2] / x.out[1];
    T* to = reinterpret_cast<T*>(out) + g * x.out_group + i0 * x.out_step[0] + i1 * x.out_step[1] + i2 * x.out_step[2];
    for (int64_t n = 0; n < x.images; ++n)
      for (int64_t f = 0; f < x.features; ++f) {
        const T* each = from + g * cut.parts * all + (tap * x.images + n) * x.features + f;
        T total = each[0];
        for (int64_t p = 1; p < cut.parts; ++p) total += each[p * all];
        to[n * x.out_image + f * x.out_feature] = total;
      }
  });
}

void convolve(const Convolution& given, const char* in, const Weights& weights, char* out) {
  const Convolution x = joined(given, weights);
  const Cut cut(x);
  const Workspace<char> sums(x.groups * cut.parts * cut.sums_bytes());
  parallel_for(x.groups * cut.parts, [&](int64_t k) {
    const int64_t p = k % cut.parts;
    Part(cut, weights, in, k / cut.parts, sums.data() + k * cut.sums_bytes())
        .run(p * cut.items / cut.parts, (p + 1) * cut.items / cut.parts);
  });
  switch (x.code) {
    case code_float64: return add_up<double>(cut, sums.data(), out);
    case code_complex64: return add_up<std::complex<float>>(cut, sums.data(), out);
    case code_complex128: return add_up<std::complex<double>>(cut, sums.data(), out);
    default: return add_up<float>(cut, sums.data(), out);
  }
}

int64_t bytes(int64_t threads, const Convolution& given, const Weights& weights) {
  const Convolution x = joined(given, weights);
  const Cut cut(x);
  const int64_t each = Workspace<char>::taken(cut.lines_bytes()) + Workspace<char>::taken(cut.panel_bytes());
  return Workspace<char>::taken(x.groups * cut.parts * cut.sums_bytes()) + std::min(threads, x.groups * cut.parts) * each;
}

}  // namespace

}  // namespace nj::gemm

#define NJ_WEIGHTS \
  int64_t w_group, int64_t w_channel, int64_t w_feature, int64_t w_step0, int64_t w_step1, int64_t w_step2

extern "C" int64_t nj_convolution_long(NJ_CONVOLUTION, NJ_WEIGHTS, const char* in, const char* weights, char* out) {
  nj::gemm::convolve(NJ_SIZES, in, {weights, w_group, w_channel, w_feature, {w_step0, w_step1, w_step2}}, out);
  return 0;
}
NJ_KERNEL(nj_convolution_long);

extern "C" int64_t nj_convolution_long_bytes(int64_t threads, NJ_CONVOLUTION, NJ_WEIGHTS, const char*, const char*, char*) {
  return nj::gemm::bytes(threads, NJ_SIZES, {nullptr, w_group, w_channel, w_feature, {w_step0, w_step1, w_step2}});
}
NJ_KERNEL(nj_convolution_long_bytes);
