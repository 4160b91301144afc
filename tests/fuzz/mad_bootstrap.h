// A bootstrap whose other PEs went mad.
#pragma once

#include <functional>
#include <utility>

#include "core/host/bootstrap/bootstrap.h"
#include "tests/softnic/fuzz_input.h"

namespace gdakit::fuzz {

// Each of the others gives what this PE gives, but for what `change` makes of it.
class MadBootstrap final : public Bootstrap {
 public:
  MadBootstrap(int rank, int size, std::function<Bytes(Bytes)> change)
      : Bootstrap(rank, size), change_(std::move(change)) {}

 private:
  Result<std::vector<Bytes>> exchange(const CollectiveCall& call,
                                      std::vector<Bytes> blobs) override {
    const auto pes = static_cast<std::size_t>(size());
    switch (call.kind) {
      case CollectiveKind::join:
      case CollectiveKind::barrier: return std::vector<Bytes>();
      case CollectiveKind::broadcast:
        if (blobs.empty()) blobs.push_back(change_(to_bytes("/dev/null", 9)));
        return blobs;
      case CollectiveKind::allgather: blobs.resize(pes, blobs.front()); break;
      case CollectiveKind::alltoall: break;
    }
    for (std::size_t pe = 0; pe < pes; ++pe) {
      if (pe != static_cast<std::size_t>(rank())) blobs[pe] = change_(std::move(blobs[pe]));
    }
    return blobs;
  }

  void send_abort(const std::string&) override {}

  const std::function<Bytes(Bytes)> change_;
};

// As the input says; past its end, nothing changes.
inline Bytes changed_by(softnic::test::Input& input, Bytes blob) {
  switch (input.below(8)) {
    case 1: blob.resize(input.take<std::uint8_t>()); break;
    case 2: blob.clear(); break;
    case 3:
      for (std::byte& byte : blob) byte ^= input.take<std::byte>();
      break;
    case 4:
    case 5: {
      if (blob.empty()) break;
      const std::uint32_t at = input.below(static_cast<std::uint32_t>(blob.size()));
      blob[at] ^= input.take<std::byte>();
      break;
    }
    default: break;
  }
  return blob;
}

}  // namespace gdakit::fuzz
