// Zeroed memory aligned to a group of lanes.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "common/layout.h"

namespace repshape {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::ptrdiff_t doubles) : size_(doubles) {
    if (!doubles) return;
    data_.reset(static_cast<double*>(::operator new(doubles * sizeof(double), std::align_val_t(kGroupBytes))));
    std::memset(data_.get(), 0, doubles * sizeof(double));
  }
  double* data() const { return data_.get(); }
  std::ptrdiff_t size() const { return size_; }

 private:
  struct Free {
    void operator()(double* p) const { ::operator delete(p, std::align_val_t(kGroupBytes)); }
  };
  std::unique_ptr<double, Free> data_;
  std::ptrdiff_t size_ = 0;
};

}  // namespace repshape
