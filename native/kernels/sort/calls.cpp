// nj_sort with a fixed number of operands: compiled programs pass numbers and single pointers, not arrays of them.
// Arguments: num_keys, outer, axis, inner, the dtype codes, the operands, the results; all C-contiguous. No Python here.
#include <cstdint>

#include "kernels/registry.h"

extern "C" int64_t nj_sort(int64_t num_operands, int64_t num_keys, const int64_t* codes, char* const* ins, char* const* outs,
                           int64_t outer, int64_t axis, int64_t inner, const int64_t* in_strides, const int64_t* out_strides);

extern "C" int64_t nj_sort1(int64_t num_keys, int64_t outer, int64_t axis, int64_t inner, int64_t code0, char* in0,
                            char* out0) {
  int64_t codes[] = {code0};
  char *ins[] = {in0}, *outs[] = {out0};
  return nj_sort(1, num_keys, codes, ins, outs, outer, axis, inner, nullptr, nullptr);
}
NJ_KERNEL(nj_sort1);

extern "C" int64_t nj_sort2(int64_t num_keys, int64_t outer, int64_t axis, int64_t inner, int64_t code0, int64_t code1,
                            char* in0, char* in1, char* out0, char* out1) {
  int64_t codes[] = {code0, code1};
  char *ins[] = {in0, in1}, *outs[] = {out0, out1};
  return nj_sort(2, num_keys, codes, ins, outs, outer, axis, inner, nullptr, nullptr);
}
NJ_KERNEL(nj_sort2);

extern "C" int64_t nj_sort3(int64_t num_keys, int64_t outer, int64_t axis, int64_t inner, int64_t code0, int64_t code1,
                            int64_t code2, char* in0, char* in1, char* in2, char* out0, char* out1, char* out2) {
  int64_t codes[] = {code0, code1, code2};
  char *ins[] = {in0, in1, in2}, *outs[] = {out0, out1, out2};
  return nj_sort(3, num_keys, codes, ins, outs, outer, axis, inner, nullptr, nullptr);
}
NJ_KERNEL(nj_sort3);
