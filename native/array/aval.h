// What the native core needs to know of an aval (a Python object, interned: identity is equality).
#pragma once
#include <string>
#include <vector>

#include "array/numpy_api.h"

namespace nj {

// The dtypes that native code treats itself.
enum class Kind : uint8_t { Bool, Int32, Int64, Float32, Float64, Other };

// Shared by all that use the aval; counted under the GIL, gone with its last user.
struct AvalInfo {
  Py_ssize_t refs;
  PyObject* aval;
  PyObject* shape;
  PyArray_Descr* dtype;
  bool weak;
  Kind kind;
  std::vector<npy_intp> dims;
  Py_ssize_t size;
  Py_ssize_t itemsize;
  size_t nbytes;
  AvalInfo* as_bool;  // same shape, dtype bool, not weak; filled on demand
};

// A new reference to the info of `aval`; null with TypeError if it is not one of known shape.
AvalInfo* aval_info(PyObject* aval);
inline AvalInfo* aval_retain(AvalInfo* info) {
  ++info->refs;
  return info;
}
void aval_release(AvalInfo* info);

// Owns one reference to an info; null when empty.
class InfoRef {
 public:
  explicit InfoRef(AvalInfo* stolen) : info_(stolen) {}
  InfoRef(InfoRef&& other) noexcept : info_(other.release()) {}
  InfoRef(const InfoRef&) = delete;
  InfoRef& operator=(const InfoRef&) = delete;
  ~InfoRef() {
    if (info_) aval_release(info_);
  }

  explicit operator bool() const { return info_ != nullptr; }
  AvalInfo* get() const { return info_; }
  AvalInfo* operator->() const { return info_; }
  AvalInfo* release() {
    AvalInfo* info = info_;
    info_ = nullptr;
    return info;
  }

 private:
  AvalInfo* info_;
};

// Same shape and dtype, whatever the weak types.
bool same_layout(const AvalInfo* a, const AvalInfo* b);
// "float32[2,3]", for messages.
std::string describe(const AvalInfo* info);

}  // namespace nj
