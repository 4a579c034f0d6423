// What the kernels of convolutions share. No Python in here.
#pragma once
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace nj::gemm {

constexpr int64_t kRank = 3;  // spatial axes; the last one is that of places, the one before that of lines

// out[n, i, g*o + f] = sum over k, c of in[n, i * stride + k * dilation - low, g*channels + c] * w[g, k, c, f]. Strides of
// arrays count elements. Interleaved: the slab has the lines of a window side by side at each place, as their parts alone would
// be short; the last two axes of k in w are swapped, and the last dilation is 1.
struct Convolution {
  DtypeCode code;
  bool interleaved;
  int64_t images, groups, channels, features;
  int64_t in[kRank], out[kRank], window[kRank], stride[kRank], dilation[kRank], low[kRank];
  int64_t in_image, in_group, in_channel, in_step[kRank];
  int64_t out_image, out_group, out_feature, out_step[kRank];
};

}  // namespace nj::gemm

// Its members as arguments of a kernel, and from these.
#define NJ_CONVOLUTION                                                                                                         \
  int64_t code, int64_t interleaved, int64_t images, int64_t groups, int64_t channels, int64_t features, int64_t in0,          \
      int64_t in1, int64_t in2, int64_t out0, int64_t out1, int64_t out2, int64_t window0, int64_t window1, int64_t window2,   \
      int64_t stride0, int64_t stride1, int64_t stride2, int64_t dilation0, int64_t dilation1, int64_t dilation2,              \
      int64_t low0, int64_t low1, int64_t low2, int64_t in_image, int64_t in_group, int64_t in_channel, int64_t in_step0,      \
      int64_t in_step1, int64_t in_step2, int64_t out_image, int64_t out_group, int64_t out_feature, int64_t out_step0,        \
      int64_t out_step1, int64_t out_step2
#define NJ_SIZES                                                                                                               \
  {static_cast<nj::DtypeCode>(code), interleaved != 0, images, groups, channels, features, {in0, in1, in2},                    \
   {out0, out1, out2}, {window0, window1, window2}, {stride0, stride1, stride2}, {dilation0, dilation1, dilation2},            \
   {low0, low1, low2}, in_image, in_group, in_channel, {in_step0, in_step1, in_step2}, out_image, out_group, out_feature,      \
   {out_step0, out_step1, out_step2}}
