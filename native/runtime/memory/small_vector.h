// A vector of plain values that needs no allocation while it is small.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace nj {

template <class T, size_t kInline>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");

 public:
  SmallVector() = default;
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  ~SmallVector() {
    if (data_ != inline_) std::free(data_);
  }

  void push_back(T value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t k) { return data_[k]; }
  const T& operator[](size_t k) const { return data_[k]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  void grow() {
    size_t capacity = capacity_ * 2;
    T* data = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!data) throw std::bad_alloc();
    std::memcpy(data, data_, size_ * sizeof(T));
    if (data_ != inline_) std::free(data_);
    data_ = data;
    capacity_ = capacity;
  }

  T inline_[kInline];
  T* data_ = inline_;
  size_t size_ = 0, capacity_ = kInline;
};

}  // namespace nj
