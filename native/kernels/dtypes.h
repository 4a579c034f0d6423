// The dtypes of elements, as machine code tells kernels. No Python in here.
#pragma once
#include <cstdint>

namespace nj {

// In the order of DTYPE_CODES in numjet/cpu/kernels/__init__.py.
enum DtypeCode : int64_t {
  code_bool,
  code_int8,
  code_int16,
  code_int32,
  code_int64,
  code_uint8,
  code_uint16,
  code_uint32,
  code_uint64,
  code_float16,
  code_bfloat16,
  code_float32,
  code_float64,
  code_complex64,
  code_complex128,
  code_float8_e4m3fn,
  code_float8_e5m2,
  code_float8_e4m3b11fnuz,
  code_float8_e4m3fnuz,
  code_float8_e5m2fnuz,
  code_float8_e4m3,
  code_float8_e3m4,
  code_float8_e8m0fnu,
  code_int4,
  code_uint4,
  code_int2,
  code_uint2,
  code_count
};

// Tables of kernels that know none of the others end here.
constexpr int64_t kCommonCodes = code_complex128 + 1;

constexpr int kItemSizes[code_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

}  // namespace nj
