// A vector that needs no allocation while it is small. Of plain values and of handles, both of which may be moved as bytes.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/memory/handle.h"

namespace nj {

template <class T> constexpr bool kMovesAsBytes = std::is_trivially_copyable_v<T>;
template <class T> constexpr bool kMovesAsBytes<Handle<T>> = true;

template <class T, size_t kInline> class SmallVector {
  static_assert(kMovesAsBytes<T>);

 public:
  SmallVector() = default;
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  ~SmallVector() {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (T& item : *this) item.~T();
    if (data_ != inline_data()) std::free(data_);
  }

  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(capacity_ * 2);
    new (static_cast<void*>(data_ + size_)) T(std::move(value));
    ++size_;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t k) { return data_[k]; }
  const T& operator[](size_t k) const { return data_[k]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void grow(size_t capacity) {
    T* data = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!data) throw std::bad_alloc();
    std::memcpy(static_cast<void*>(data), static_cast<const void*>(data_), size_ * sizeof(T));
    if (data_ != inline_data()) std::free(data_);
    data_ = data;
    capacity_ = capacity;
  }

  alignas(T) unsigned char inline_[kInline * sizeof(T)];
  T* data_ = inline_data();
  size_t size_ = 0, capacity_ = kInline;
};

}  // namespace nj
