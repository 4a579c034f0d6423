// What the native core needs to know of an aval (a Python object, interned: identity is equality).
#pragma once
#include <string>
#include <vector>

#include "array/numpy_api.h"

namespace nj {

// The dtypes that native code treats itself.
enum class Kind : uint8_t { Bool, Int32, Int64, Float32, Float64, Other };

// Shared by all that use the aval; counted under the GIL, gone with its last user.
struct AvalInfo;
void aval_destroy(AvalInfo* info);
template <> struct CountOf<AvalInfo> {
  static void retain(AvalInfo* info);
  static void release(AvalInfo* info);
};
using AvalRef = Handle<AvalInfo>;

struct AvalInfo {
  Py_ssize_t refs = 1;
  PyRef aval, shape;
  Handle<PyArray_Descr> dtype;
  bool weak = false;
  bool placed = false;  // the type says how values are divided, or in which memory they are
  Kind kind = Kind::Other;
  std::vector<npy_intp> dims;
  Py_ssize_t size = 1;
  Py_ssize_t itemsize = 0;
  size_t nbytes = 0;
  AvalRef as_bool;  // same shape, dtype bool, not weak; filled on demand
};

inline void CountOf<AvalInfo>::retain(AvalInfo* info) { ++info->refs; }
inline void CountOf<AvalInfo>::release(AvalInfo* info) {
  if (--info->refs == 0) aval_destroy(info);
}

// The info of `aval`; null with TypeError if it is not one of known shape.
AvalRef aval_info(PyObject* aval);

// The infos of a tuple of avals, appended to `infos`; false with the error set.
bool read_avals(PyObject* avals, std::vector<AvalRef>& infos);

// Same shape and dtype, whatever the weak types.
bool same_layout(const AvalInfo* a, const AvalInfo* b);
// "float32[2,3]", for messages.
std::string describe(const AvalInfo* info);

}  // namespace nj
