#include "core/host/bootstrap/bootstrap_round.h"

#include "core/host/bootstrap/tcp_wire.h"
#include "tests/fuzz/meetings.h"
#include "tests/softnic/fuzz_input.h"

namespace gdakit::fuzz {
namespace {

constexpr int kPes = 3;

std::size_t answers_to(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::join:
    case CollectiveKind::barrier: return 0;
    case CollectiveKind::broadcast: return 1;
    case CollectiveKind::allgather:
    case CollectiveKind::alltoall: break;
  }
  return kPes;
}

std::string check_answers(BootstrapRound& round) {
  for (int rank = 0; rank < kPes; ++rank) {
    std::size_t bytes = 0;
    const auto answer = round.answer(rank);
    for (const std::span<const std::byte> blob : answer) {
      for (const std::byte byte : blob) bytes += byte != std::byte{0} ? 1 : 0;
    }
    const bool right = answer.size() == answers_to(round.call().kind) && bytes < 1'000;
    if (!right) return "an answer of the wrong number of blobs";
  }
  return {};
}

// A call as the wire brings it.
std::optional<CollectiveCall> some_call(softnic::test::Input& input, std::uint64_t sequence) {
  tcp_wire::FrameHeader header{};
  const bool wild = input.take<std::uint8_t>() % 16 == 0;
  header.type =
      Be16(wild ? input.take<std::uint16_t>() : static_cast<std::uint16_t>(1 + input.below(5)));
  header.purpose = Be16(static_cast<std::uint16_t>(input.below(8)));
  header.detail = Be32(wild ? input.take<std::uint32_t>() : input.below(kPes));
  header.sequence = Be64(wild ? input.take<std::uint64_t>() : sequence);
  return tcp_wire::call_of(header);
}

}  // namespace

std::string play_bootstrap_wire(Input input) {
  softnic::test::Input words(input.data(), input.size());
  const auto most = words.take<std::uint8_t>();
  const Input rest = input.subspan(std::min<std::size_t>(1, input.size()));
  const std::span<const std::byte> payload = std::as_bytes(rest);
  tcp_wire::Frame frame{};
  frame.header = words.take<tcp_wire::FrameHeader>();
  frame.payload.assign(payload.begin(), payload.end());
  if (tcp_wire::decode_failure(frame).code() > Code::internal) return "a code that is none";
  if (const auto call = tcp_wire::call_of(frame.header)) {
    if (describe(*call).empty()) return "a call without a name";
  }
  const auto blobs = tcp_wire::decode_blobs(payload, most);
  if (!blobs) return {};
  if (blobs->size() > most) return "more blobs than are allowed";
  const std::vector<std::span<const std::byte>> spans(blobs->begin(), blobs->end());
  const Bytes again = tcp_wire::encode_answer(7, spans);
  const bool same =
      again.size() == sizeof(tcp_wire::FrameHeader) + payload.size() &&
      std::equal(payload.begin(), payload.end(), again.begin() + sizeof(tcp_wire::FrameHeader));
  return same ? "" : "decode_blobs() and encode_answer() change the blobs";
}

std::vector<Seed> bootstrap_wire_seeds() {
  Seed two_blobs = {3, 0, 0, 0, 0, 0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 9};
  Seed call = {1, 0, 1, 0, 5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0};
  return {two_blobs, call, Seed{0}};
}

std::string play_bootstrap_round(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  BootstrapRound round(kPes);
  std::uint64_t sequence = 0;
  while (!input.empty()) {
    const int rank = static_cast<int>(input.below(kPes));
    if (input.take<std::uint8_t>() % 32 == 0) {
      if (const auto left = round.leave(rank); !left && left.error().message().empty()) {
        return "an error without a sentence";
      }
      continue;
    }
    const auto call = some_call(input, sequence);
    if (!call) continue;
    std::vector<Bytes> blobs(input.below(kPes + 2));
    for (Bytes& blob : blobs) blob.resize(input.below(9), std::byte{1});
    const auto added = round.add(rank, *call, std::move(blobs));
    if (!added && added.error().message().empty()) return "an error without a sentence";
    if (!round.complete()) continue;
    if (std::string wrong = check_answers(round); !wrong.empty()) return wrong;
    round.next();
    ++sequence;
  }
  return round.timed_out(std::chrono::seconds(1)).message().empty() ? "no sentence" : "";
}

// Every PE comes to one call of each kind.
std::vector<Seed> bootstrap_round_seeds() {
  Seed all;
  for (std::uint8_t kind = 0; kind < 5; ++kind) {
    const std::uint8_t count = kind == 2 ? 1 : kind == 3 ? kPes : 0;
    for (std::uint8_t pe = 0; pe < kPes; ++pe) {
      const std::uint8_t blobs = kind == 4 && pe == 0 ? 1 : count;
      const Seed one = {pe, 0, 1, 1, kind, 0, 0, 0, 0, 0, blobs, 0};
      all.insert(all.end(), one.begin(), one.end());
      for (std::uint8_t i = 0; i < blobs; ++i) all.insert(all.end(), {4, 0});
    }
  }
  return {all};
}

}  // namespace gdakit::fuzz
