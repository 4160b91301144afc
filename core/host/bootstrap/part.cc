#include "core/host/bootstrap/part.h"

namespace gdakit {
namespace {

// A blob's first byte: what follows.
constexpr std::byte kError{0};
constexpr std::byte kPart{1};

Bytes joined(std::byte first, const Bytes& rest) {
  Bytes blob;
  blob.reserve(1 + rest.size());
  blob.push_back(first);
  for (const std::byte byte : rest) blob.push_back(byte);
  return blob;
}

}  // namespace

Bytes blob_of_part(const Result<Bytes>& part) {
  if (part) return joined(kPart, *part);
  const std::string& why = part.error().message();
  return joined(kError, to_bytes(why.data(), why.size()));
}

Result<Bytes> part_of_blob(const Bytes& blob, std::size_t pe, const std::string& what) {
  const std::string name = "PE " + std::to_string(pe);
  if (blob.empty() || blob.front() > kPart) {
    return Error(Code::invalid_argument,
                 name + " gave bytes that are not " + what + "; do all PEs run the same program?");
  }
  Bytes rest(blob.begin() + 1, blob.end());
  if (blob.front() == kPart) return rest;
  return Error(Code::exhausted,
               name + " could not make " + what + ": " +
                   std::string(reinterpret_cast<const char*>(rest.data()), rest.size()));
}

}  // namespace gdakit
