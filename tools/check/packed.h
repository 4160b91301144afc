// Values as bytes, for the bootstrap: numbers of 32 bits, and texts behind their length.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "tools/check/report.h"

namespace gdakit::tools::check {

class Packer {
 public:
  void number(std::uint32_t value);
  void text(const std::string& value);
  void bytes(const Bytes& value);
  Bytes take() { return std::move(packed_); }

 private:
  Bytes packed_;
};

// What it reads behind the end is zero or empty, and ok() false from then on.
class Unpacker {
 public:
  explicit Unpacker(const Bytes& packed) : packed_(packed) {}
  std::uint32_t number();
  std::string text();
  Bytes bytes();
  // How many parts follow, each of which takes at least a number.
  std::uint32_t count();
  bool ok() const { return ok_; }

 private:
  const Bytes& packed_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

Bytes pack(const PeReport& report);
// Errors: not what pack() made (invalid_argument).
Result<PeReport> unpack(const Bytes& packed);

}  // namespace gdakit::tools::check
