// Witness: what the threads of a kernel saw and did not like, for the host to find afterwards.
#pragma once

#include <string>

namespace gdakit::sim {

class Witness {
 public:
  // Called by kernels: `what` is a sentence that says what should hold.
  void expect(bool holds, const char* what) const {
    if (!holds && failure_ == nullptr) failure_ = what;
  }

  void forget() { failure_ = nullptr; }
  // The first sentence that did not hold; null if there is none.
  const char* failure() const { return failure_; }

 private:
  mutable const char* failure_ = nullptr;  // kernels are const and hold a pointer to this
};

}  // namespace gdakit::sim
