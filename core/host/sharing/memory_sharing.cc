#include "core/host/sharing/memory_sharing.h"

#include <string>
#include <utility>

#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

// What PE `pe` writes into the memory that it shares first.
std::uint64_t probe_word(int pe) { return 0x6764616b69740000u + static_cast<std::uint64_t>(pe); }

}  // namespace

MemorySharing::MemorySharing(Bootstrap& bootstrap, MemoryProvider& memory,
                             std::unique_ptr<HandleExchange> exchange, std::vector<bool> group)
    : bootstrap_(bootstrap),
      memory_(memory),
      exchange_(std::move(exchange)),
      group_(std::move(group)),
      peers_(static_cast<std::size_t>(bootstrap.size())) {}

Result<std::unique_ptr<MemorySharing>> MemorySharing::open(Bootstrap& bootstrap,
                                                           MemoryProvider& memory,
                                                           std::chrono::milliseconds timeout,
                                                           std::vector<bool> group) {
  if (group.empty()) group.resize(static_cast<std::size_t>(bootstrap.size()), true);
  auto exchange = HandleExchange::open(bootstrap, timeout, group);
  if (!exchange) return exchange.error();
  std::unique_ptr<MemorySharing> sharing(
      new MemorySharing(bootstrap, memory, std::move(*exchange), std::move(group)));
  if (Result<void> works = sharing->probe(); !works) return works.error();
  return sharing;
}

// Shares one piece of memory and reads what the others have written into theirs.
Result<void> MemorySharing::probe() {
  Result<std::unique_ptr<AddressRange>> range = memory_.reserve(memory_.granularity());
  Result<void> ready = range ? (*range)->commit(memory_.granularity()) : range.error();
  const std::uint64_t word = probe_word(bootstrap_.rank());
  if (ready) ready = memory_.copy((*range)->base(), &word, sizeof word);
  if (Result<void> all = all_succeed(bootstrap_, ready); !all) return all;
  if (Result<void> shared = share(**range, [] {}); !shared) return shared;
  Result<void> seen = all_succeed(bootstrap_, check_probe());
  forget();
  return seen;
}

Result<void> MemorySharing::check_probe() const {
  for (int pe = 0; pe < bootstrap_.size(); ++pe) {
    if (!is_mapped(static_cast<std::size_t>(pe))) continue;
    std::uint64_t word = 0;
    if (peer(pe)->committed() < sizeof word) {
      return Error(Code::invalid_argument, "PE " + std::to_string(pe) +
                                               " gave no memory to try it with; do all PEs run "
                                               "the same program?");
    }
    if (auto read = memory_.copy(&word, peer(pe)->base(), sizeof word); !read) return read;
    if (word == probe_word(pe)) continue;
    return Error(Code::internal, "the memory mapped from PE " + std::to_string(pe) +
                                     " does not hold what that PE has written");
  }
  return {};
}

void MemorySharing::forget() {
  shown_ = 0;
  for (std::unique_ptr<AddressRange>& range : peers_) range.reset();
}

Result<void> MemorySharing::share(AddressRange& mine, const std::function<void()>& mapped) {
  if (failure_) return *failure_;
  Result<std::vector<SharedChunk>> chunks = new_chunks(mine);
  // A PE that has nothing to give still takes part, so that all come to the same end.
  static const std::vector<SharedChunk> kNone;
  auto given = exchange_->exchange(chunks ? *chunks : kNone);
  Result<void> done = chunks ? Result<void>() : chunks.error();
  if (done) done = given ? map(mine.size(), std::move(*given)) : given.error();
  if (done) mapped();
  Result<void> all = all_succeed(bootstrap_, done);
  if (all) {
    shown_ = mine.committed();
  } else {
    failure_ = all.error();
  }
  return all;
}

Result<std::vector<SharedChunk>> MemorySharing::new_chunks(AddressRange& mine) {
  std::vector<SharedChunk> chunks;
  for (std::uint64_t at = shown_; at < mine.committed(); at += chunks.back().bytes) {
    Result<SharedChunk> chunk = mine.export_chunk(at);
    if (!chunk) return chunk.error();
    chunks.push_back(std::move(*chunk));
  }
  return chunks;
}

Result<void> MemorySharing::map(std::uint64_t range_bytes,
                                std::vector<std::vector<SharedChunk>> given) {
  for (std::size_t pe = 0; pe < given.size(); ++pe) {
    if (!is_mapped(pe)) continue;
    if (peers_[pe] == nullptr) {
      Result<std::unique_ptr<AddressRange>> range = memory_.reserve(range_bytes);
      if (!range) return range.error();
      peers_[pe] = std::move(*range);
    }
    for (const SharedChunk& chunk : given[pe]) {
      if (Result<void> done = peers_[pe]->import_chunk(chunk); !done) {
        return done.error().within("memory of PE " + std::to_string(pe));
      }
    }
  }
  return {};
}

}  // namespace gdakit
