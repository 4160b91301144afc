#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {

Result<void> all_succeed(Bootstrap& bootstrap, const Result<void>& mine) {
  const std::string text = mine ? "" : mine.error().message();
  Result<std::vector<Bytes>> all = bootstrap.allgather(to_bytes(text.data(), text.size()));
  if (!all) return all.error();
  for (std::size_t pe = 0; pe < all->size(); ++pe) {
    const Bytes& error = (*all)[pe];
    if (error.empty()) continue;
    return Error(Code::unavailable,
                 "PE " + std::to_string(pe) + ": " +
                     std::string(reinterpret_cast<const char*>(error.data()), error.size()));
  }
  return {};
}

}  // namespace gdakit
