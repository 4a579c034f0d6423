// Intrusive reference-counted handle. The count lives in the object, and CountOf<T> says how to change it; an empty handle is
// null. Everything is inline: a handle costs what the retain and release that it replaces did.
#pragma once
#include <new>
#include <utility>

namespace nj {

// retain(T*) and release(T*). The primary template, in python/native.h, is that of Python objects.
template <class T> struct CountOf;

// Signatures: a raw pointer or a reference borrows, a handle by value takes or gives one count.
template <class T> class Handle {
 public:
  Handle() = default;
  explicit Handle(T* taken) noexcept : object_(taken) {}
  // A count of one's own of what somebody else owns; null stays null.
  static Handle share(T* object) {
    if (object) CountOf<T>::retain(object);
    return Handle(object);
  }
  Handle(const Handle& other) : Handle(share(other.object_)) {}
  Handle(Handle&& other) noexcept : object_(other.release()) {}
  // The old object goes last: to release it may run anything, which finds the new one here.
  Handle& operator=(Handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_) CountOf<T>::release(object_);
  }

  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_; }
  // Lends the object; not out of a temporary, which ends before the loan.
  operator T*() const& { return object_; }
  operator T*() const&& = delete;
  T* operator->() const { return object_; }
  // Hands the count over to the caller.
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }
  void reset() { Handle old(release()); }

 private:
  T* object_ = nullptr;
};

// Members of Python objects, whose memory Python allocates and frees: made empty after the one, ended before the other.
template <class... Members> void construct(Members&... members) { (new (static_cast<void*>(&members)) Members(), ...); }
template <class... Members> void destroy(Members&... members) { (members.~Members(), ...); }

}  // namespace nj
