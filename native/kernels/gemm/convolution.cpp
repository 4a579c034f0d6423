// Convolutions as products of matrices whose rows overlap where they lie: places side by side share most of what they read, so
// that no matrix of patches is made (an implicit product; M. Cho and D. Brand, "MEC: Memory-efficient Convolution for Deep
// Neural Network", 2017). Each thread copies the lines of the operand that a block of the result needs, with their padding and
// with channels side by side; micro-kernels read their rows from that slab.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/copy/transpose.h"
#include "kernels/gemm/convolution.h"
#include "kernels/registry.h"
#include "runtime/process/caches.h"
#include "runtime/threads/parallel.h"

namespace nj::gemm {

namespace {

constexpr int64_t kDepth = 512;          // elements of a sum from one piece of a window at most
constexpr int64_t kWorth = 1 << 19;      // multiply-adds of a part that is worth a thread
constexpr int64_t kParts = 12;           // at least, where they are worth it: threads are not equally fast
constexpr int64_t kLeastPlaces = 48;     // of a part of a line

int64_t slab_bytes() { return std::min<int64_t>(192 * 1024, caches().l2 / 16 * 5); }

// A part of each window whose elements are side by side in the slab.
struct Run {
  int64_t offset;  // in the slab, in elements
  int64_t length;
  int64_t row;     // of the weights
  int64_t packed;  // where its packed weights are, in bytes from those of its group
};

// Elements of a window that are side by side.
int64_t side_by_side(const Convolution& x) {
  return x.dilation[2] == 1 ? x.window[2] * (x.interleaved ? x.window[1] : 1) * x.channels : x.channels;
}

// How a convolution is cut: parts are blocks of `lines` lines of `places` places.
class Cut {
 public:
  explicit Cut(const Convolution& of) : x(of), kernel(kernel_of(of.code, of.features, side_by_side(of))) {
    lines = 1;
    places = x.out[2];
    while (bytes_of_slab() > slab_bytes() && places > 2 * kLeastPlaces) places = ceil_div(places, 2);
    while (lines < x.out[1] && bytes_of_slab(lines + 1) <= slab_bytes()) ++lines;
    while (parts() < kParts && lines > 1 && work() >= 2 * kWorth) lines = ceil_div(lines, 2);
    while (parts() < kParts && places >= 2 * kLeastPlaces && work() >= 2 * kWorth) places = ceil_div(places, 2);
    find_pieces();
  }

  // Lines that a block of so many lines of the result reads, for each place along the first axis of the window.
  int64_t read_lines(int64_t count) const { return (count - 1) * x.stride[1] + (x.window[1] - 1) * x.dilation[1] + 1; }
  int64_t read_places(int64_t count) const { return (count - 1) * x.stride[2] + (x.window[2] - 1) * x.dilation[2] + 1; }
  int64_t place_step() const { return x.interleaved ? x.window[1] * x.channels : x.channels; }
  int64_t line_step() const { return read_places(places) * place_step(); }
  int64_t slab_lines(int64_t count) const { return x.interleaved ? count : read_lines(count); }
  int64_t bytes_of_slab(int64_t count) const { return x.window[0] * slab_lines(count) * line_step() * kernel.item; }
  int64_t bytes_of_slab() const { return bytes_of_slab(lines); }
  int64_t lines_at_once() const { return strided() && group_bytes > caches().l2 / 2 ? lines : 1; }  // that share packed weights
  int64_t bytes_of_rows() const { return x.out_feature == 1 ? 0 : lines_at_once() * places * x.features * kernel.result; }
  int64_t bytes_of_weights() const { return x.groups * group_bytes; }
  int64_t parts() const { return x.images * x.groups * x.out[0] * ceil_div(x.out[1], lines) * ceil_div(x.out[2], places); }
  int64_t work() const { return lines * places * x.features * x.window[0] * x.window[1] * x.window[2] * x.channels; }
  int64_t panels() const { return ceil_div(x.features, kernel.columns()); }
  int64_t columns(int64_t panel) const { return std::min(kernel.columns(), x.features - panel * kernel.columns()); }
  int64_t width(int64_t panel) const { return ceil_div(columns(panel), kernel.lanes) * kernel.lanes; }
  bool strided() const { return kernel.strided[1][1][0] != nullptr; }
  int64_t height() const { return strided() ? kernel.strided_rows() : kernel.rows; }

  const Convolution& x;
  const Kernel& kernel;
  int64_t lines, places;
  std::vector<Run> pieces;
  int64_t group_bytes = 0;  // of packed weights
  int64_t deepest = 0;      // the longest piece
  int64_t rows = 0;         // of the weights of a group

 private:
  void find_pieces() {
    const bool joined = x.dilation[2] == 1;
    const int64_t length = side_by_side(x);
    for (int64_t p = 0; p < x.window[0]; ++p)
      for (int64_t q = 0; q < (x.interleaved ? 1 : x.window[1]); ++q)
        for (int64_t r = 0; r < (joined ? 1 : x.window[2]); ++r)
          add_pieces((p * slab_lines(lines) + q * x.dilation[1]) * line_step() + r * x.dilation[2] * x.channels, length);
  }

  // Elements of a window that are side by side from `start` on.
  void add_pieces(int64_t start, int64_t length) {
    const int64_t cuts = ceil_div(length, kDepth);
    for (int64_t cut = 0; cut < cuts; ++cut) {
      const int64_t begin = cut * length / cuts, count = (cut + 1) * length / cuts - begin;
      pieces.push_back({start + begin, count, rows + begin, group_bytes});
      for (int64_t q = 0; q < panels(); ++q) group_bytes += width(q) * kernel.steps(count) * kernel.unit;
      deepest = std::max(deepest, count);
    }
    rows += length;
  }
};

// The weights of all groups, packed piece by piece, panel by panel.
void pack_weights(const Cut& cut, const char* weights, char* packed) {
  const Convolution& x = cut.x;
  const Kernel& kernel = cut.kernel;
  const int64_t pieces = static_cast<int64_t>(cut.pieces.size());
  parallel_for(x.groups * pieces, [&](int64_t part) {
    const int64_t g = part / pieces;
    const Run& piece = cut.pieces[part % pieces];
    char* to = packed + g * cut.group_bytes + piece.packed;
    for (int64_t q = 0; q < cut.panels(); ++q) {
      const char* from = weights + ((g * cut.rows + piece.row) * x.features + q * kernel.columns()) * kernel.item;
      kernel.pack_b(from, 1, x.features, cut.columns(q), cut.width(q), piece.length, to);
      to += cut.width(q) * kernel.steps(piece.length) * kernel.unit;
    }
  });
}

// A block of the result, and the part of the operand that it reads.
class Block {
 public:
  Block(const Cut& cut, int64_t part) : cut_(cut), x_(cut.x), kernel_(cut.kernel) {
    const int64_t across = ceil_div(x_.out[2], cut.places), down = ceil_div(x_.out[1], cut.lines);
    place_ = part % across * cut.places;
    line_ = part / across % down * cut.lines;
    plane_ = part / across / down % x_.out[0];
    group_ = part / across / down / x_.out[0] % x_.groups;
    image_ = part / across / down / x_.out[0] / x_.groups;
    places_ = std::min(cut.places, x_.out[2] - place_);
    lines_ = std::min(cut.lines, x_.out[1] - line_);
  }

  void run(const char* in, const char* packed, char* out) const {
    const Workspace<char> slab(cut_.bytes_of_slab()), rows(cut_.bytes_of_rows());
    fill(in, slab.data());
    char* const line = out + (image_ * x_.out_image + group_ * x_.out_group + plane_ * x_.out_step[0] +
                              line_ * x_.out_step[1] + place_ * x_.out_step[2]) * kernel_.result;
    const int64_t at_once = cut_.lines_at_once(), line_bytes = line_advance() * cut_.line_step() * kernel_.item;
    for (int64_t i = 0; i < lines_; i += at_once) {
      const int64_t count = std::min(at_once, lines_ - i);
      char* const to = line + i * x_.out_step[1] * kernel_.result;
      if (x_.out_feature == 1) {
        multiply(slab.data() + i * line_bytes, packed + group_ * cut_.group_bytes, to, x_.out_step[2], x_.out_step[1], count);
        continue;
      }
      multiply(slab.data() + i * line_bytes, packed + group_ * cut_.group_bytes, rows.data(), x_.features,
               places_ * x_.features, count);
      for (int64_t k = 0; k < count; ++k)
        scatter(rows.data() + k * places_ * x_.features * kernel_.result, to + k * x_.out_step[1] * kernel_.result);
    }
  }

 private:
  // Lines of the slab from one line of the result to the next.
  int64_t line_advance() const { return x_.interleaved ? 1 : x_.stride[1]; }

  // Copies lines of the operand with zeros around them.
  void fill(const char* in, char* slab) const {
    const int64_t count = cut_.slab_lines(lines_), all = cut_.slab_lines(cut_.lines), each = x_.interleaved ? x_.window[1] : 1;
    const int64_t item = kernel_.item;
    for (int64_t p = 0; p < x_.window[0]; ++p)
      for (int64_t r = 0; r < count; ++r)
        for (int64_t q = 0; q < each; ++q) {
          const int64_t z = plane_ * x_.stride[0] + p * x_.dilation[0] - x_.low[0];
          const int64_t line = x_.interleaved ? r * x_.stride[1] + q * x_.dilation[1] : r;
          fill_line(in, z, line_ * x_.stride[1] + line - x_.low[1],
                    slab + ((p * all + r) * cut_.line_step() + q * x_.channels) * item);
        }
  }

  void fill_line(const char* in, int64_t z, int64_t y, char* to) const {
    const int64_t width = cut_.read_places(places_), first = place_ * x_.stride[2] - x_.low[2];
    const int64_t step = cut_.place_step() * kernel_.item;
    const bool there = z >= 0 && z < x_.in[0] && y >= 0 && y < x_.in[1];
    const int64_t begin = there ? std::clamp<int64_t>(-first, 0, width) : width;
    const int64_t end = there ? std::clamp<int64_t>(x_.in[2] - first, begin, width) : width;
    clear(to, begin);
    clear(to + end * step, width - end);
    if (begin == end) return;
    gather(in + (image_ * x_.in_image + group_ * x_.in_group + z * x_.in_step[0] + y * x_.in_step[1] +
                 (first + begin) * x_.in_step[2]) * kernel_.item, end - begin, to + begin * step);
  }

  void clear(char* to, int64_t count) const {
    const int64_t bytes = x_.channels * kernel_.item, step = cut_.place_step() * kernel_.item;
    if (bytes == step) {
      std::memset(to, 0, count * bytes);
    } else {
      for (int64_t i = 0; i < count; ++i) std::memset(to + i * step, 0, bytes);
    }
  }

  // Places of one line, channels side by side.
  void gather(const char* from, int64_t count, char* to) const {
    const int64_t item = kernel_.item, bytes = x_.channels * item, apart = x_.in_step[2] * item, step = cut_.place_step() * item;
    if (x_.in_channel == 1 && apart == bytes && step == bytes) {
      std::memcpy(to, from, count * bytes);
    } else if (x_.in_channel == 1 || x_.channels == 1) {
      copy_places(from, apart, to, step, count, bytes);
    } else if (x_.in_step[2] == 1) {
      squares::turn_of(item)(from, x_.in_channel * item, to, step, count, x_.channels);
    } else {
      for (int64_t c = 0; c < x_.channels; ++c)
        copy_places(from + c * x_.in_channel * item, apart, to + c * item, step, count, item);
    }
  }

  static void copy_places(const char* from, int64_t apart, char* to, int64_t step, int64_t count, int64_t bytes) {
    const auto copy = [=](auto size) {
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * step, from + i * apart, size);
    };
    switch (bytes) {  // short ones by moves of known length
      case 4: return copy(std::integral_constant<size_t, 4>());
      case 8: return copy(std::integral_constant<size_t, 8>());
      case 12: return copy(std::integral_constant<size_t, 12>());
      case 16: return copy(std::integral_constant<size_t, 16>());
      default: return copy(static_cast<size_t>(bytes));
    }
  }

  // Rows of features to where they belong.
  void scatter(const char* rows, char* to) const {
    const int64_t item = kernel_.result, bytes = x_.features * item;
    if (x_.out_step[2] == 1) return squares::turn_of(item)(rows, bytes, to, x_.out_feature * item, x_.features, places_);
    for (int64_t i = 0; i < places_; ++i)
      for (int64_t f = 0; f < x_.features; ++f)
        std::memcpy(to + (i * x_.out_step[2] + f * x_.out_feature) * item, rows + i * bytes + f * item, item);
  }

  // Lines of the result: rows of features `row` elements apart, lines `line`.
  void multiply(const char* a, const char* packed, char* c, int64_t row, int64_t line, int64_t count) const {
    const int64_t tiles = ceil_div(places_, cut_.height()), at_once = cut_.strided() ? tiles : tiles_at_once();
    const Lent block(Piece::block);
    const Released after(kernel_);
    for (int64_t t = 0; t < tiles; t += at_once)
      for (const Run& piece : cut_.pieces) {
        const char *const from = a + piece.offset * kernel_.item, *b = packed + piece.packed;
        const int64_t t_end = std::min(tiles, t + at_once), steps = kernel_.steps(piece.length);
        if (!cut_.strided()) pack(piece, t, t_end, tiles, from, block.data());
        for (int64_t q = 0; q < cut_.panels(); ++q) {
          for (int64_t i = 0; i < count; ++i)
            panel(piece, q, t, t_end, tiles, cut_.strided() ? from + i * line_advance() * cut_.line_step() * kernel_.item : block.data(),
                  b, c + i * line * kernel_.result, row);
          b += cut_.width(q) * steps * kernel_.unit;
        }
      }
  }

  // Of which packed rows fit into a block.
  int64_t tiles_at_once() const {
    const int64_t bytes = kernel_.rows * kernel_.steps(cut_.deepest) * kernel_.unit;
    return std::max<int64_t>(1, kBlockBytes / bytes);
  }

  int64_t start(int64_t tile, int64_t tiles) const { return tile * places_ / tiles; }
  int64_t a_row() const { return x_.stride[2] * cut_.place_step(); }

  // Rows of the operand, tile by tile.
  void pack(const Run& piece, int64_t t, int64_t t_end, int64_t tiles, const char* a, char* block) const {
    for (int64_t tile = t; tile < t_end; ++tile) {
      const int64_t i = start(tile, tiles), count = start(tile + 1, tiles) - i;
      kernel_.pack_a(a + i * a_row() * kernel_.item, a_row(), 1, count, count, piece.length,
                     block + (i - start(t, tiles)) * kernel_.steps(piece.length) * kernel_.unit);
    }
  }

  // One panel of features of one line. a: the line in the slab, or packed rows.
  void panel(const Run& piece, int64_t q, int64_t t, int64_t t_end, int64_t tiles, const char* a, const char* b, char* c,
             int64_t row) const {
    const int64_t columns = cut_.columns(q), vectors = ceil_div(columns, kernel_.lanes), steps = kernel_.steps(piece.length);
    const int64_t missing = columns < vectors * kernel_.lanes, b_step = cut_.width(q) * kernel_.unit;
    const Into into = &piece != &cut_.pieces.front() ? Into::add : Into::set;
    for (int64_t tile = t; tile < t_end; ++tile) {
      const int64_t i = start(tile, tiles), count = start(tile + 1, tiles) - i;
      char* const to = c + (i * row + q * kernel_.columns()) * kernel_.result;
      if (cut_.strided())
        kernel_.strided[count][vectors][missing](steps, a + i * a_row() * kernel_.item, a_row(), b, b_step, to,
                                                 row * kernel_.result, columns, into);
      else
        kernel_.micro[count][vectors][missing](steps, a + (i - start(t, tiles)) * steps * kernel_.unit, count, b, b_step, to,
                                               row * kernel_.result, columns, into);
    }
  }

  const Cut& cut_;
  const Convolution& x_;
  const Kernel& kernel_;
  int64_t image_, group_, plane_, line_, place_, lines_, places_;
};

void convolve(const Convolution& x, const char* in, const char* weights, char* out) {
  const Cut cut(x);
  const Workspace<char> packed(cut.bytes_of_weights());
  pack_weights(cut, weights, packed.data());
  parallel_for(cut.parts(), [&](int64_t part) { Block(cut, part).run(in, packed.data(), out); });
}

int64_t bytes(int64_t threads, const Convolution& x) {
  const Cut cut(x);
  const int64_t each = Workspace<char>::taken(cut.bytes_of_slab()) + Workspace<char>::taken(cut.bytes_of_rows());
  return Workspace<char>::taken(cut.bytes_of_weights()) + std::min(threads, cut.parts()) * each;
}

}  // namespace

}  // namespace nj::gemm

extern "C" int64_t nj_convolution(NJ_CONVOLUTION, const char* in, const char* weights, char* out) {
  nj::gemm::convolve(NJ_SIZES, in, weights, out);
  return 0;
}
NJ_KERNEL(nj_convolution);

extern "C" int64_t nj_convolution_bytes(int64_t threads, NJ_CONVOLUTION, const char*, const char*, char*) {
  return nj::gemm::bytes(threads, NJ_SIZES);
}
NJ_KERNEL(nj_convolution_bytes);
