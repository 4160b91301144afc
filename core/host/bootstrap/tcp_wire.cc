#include "core/host/bootstrap/tcp_wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gdakit::tcp_wire {
namespace {

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::accepted: return "accepted";
    case Verdict::wrong_version: return "the two speak different versions of the protocol";
    case Verdict::wrong_secret: return "its secret is not the job's (GDAKIT_SECRET)";
    case Verdict::wrong_size: return "it expects a job of another size (GDAKIT_SIZE)";
    case Verdict::rank_out_of_range: return "the job has no such PE (GDAKIT_RANK)";
    case Verdict::duplicate_rank: return "a PE of this rank has joined already (GDAKIT_RANK)";
    case Verdict::job_ending: return "the PE of this rank has left the job";
    case Verdict::no_descriptors:
      return "PE 0's process has no file descriptor left for it; raise its limit (ulimit -n)";
    case Verdict::challenge: return "it waits for a proof";
  }
  return "unknown";
}

std::uint64_t longest_payload(const FrameHeader& header) {
  constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  if (call_of(header)) return kUnbounded;
  switch (static_cast<FrameType>(std::uint16_t{header.type})) {
    case FrameType::answer: return kUnbounded;
    case FrameType::abort:
    case FrameType::failure:
    case FrameType::refusal:
    case FrameType::lost:
    case FrameType::ended_by: return kMaxTextBytes;
    case FrameType::leave: break;
  }
  return 0;
}

std::optional<CollectiveCall> call_of(const FrameHeader& header) {
  const std::uint32_t type = header.type;
  const std::uint16_t purpose = header.purpose;
  if (purpose > static_cast<std::uint16_t>(Purpose::end)) return std::nullopt;
  if (type < static_cast<std::uint32_t>(CollectiveKind::join) ||
      type > static_cast<std::uint32_t>(CollectiveKind::broadcast)) {
    return std::nullopt;
  }
  return CollectiveCall{static_cast<CollectiveKind>(type), static_cast<int>(header.detail),
                        header.sequence, static_cast<Purpose>(purpose)};
}

namespace {

// `header` lacks the length.
Bytes encode_blobs(FrameHeader header, const std::vector<std::span<const std::byte>>& blobs) {
  std::uint64_t length = 0;
  for (const std::span<const std::byte> blob : blobs) length += sizeof(Be64) + blob.size();
  header.length = Be64(length);
  Bytes frame;
  frame.reserve(sizeof(header) + length);
  append(frame, bytes_of(header));
  for (const std::span<const std::byte> blob : blobs) {
    append(frame, bytes_of(Be64(blob.size())));
    append(frame, blob);
  }
  return frame;
}

}  // namespace

Bytes encode_call(const CollectiveCall& call,
                  const std::vector<std::span<const std::byte>>& blobs) {
  return encode_blobs(
      {Be16(static_cast<std::uint16_t>(call.purpose)), Be16(static_cast<std::uint16_t>(call.kind)),
       Be32(static_cast<std::uint32_t>(call.root)), Be64(call.sequence), Be64(0)},
      blobs);
}

Bytes encode_answer(std::uint64_t sequence, const std::vector<std::span<const std::byte>>& blobs) {
  return encode_blobs({Be16(0), Be16(static_cast<std::uint16_t>(FrameType::answer)), Be32(0),
                       Be64(sequence), Be64(0)},
                      blobs);
}

Bytes encode_text(FrameType type, std::uint32_t detail, std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  const FrameHeader header{Be16(0), Be16(static_cast<std::uint16_t>(type)), Be32(detail), Be64(0),
                           Be64(text.size())};
  Bytes frame;
  append(frame, bytes_of(header));
  append(frame, std::as_bytes(std::span(text.data(), text.size())));
  return frame;
}

std::optional<std::vector<Bytes>> decode_blobs(std::span<const std::byte> payload,
                                               std::size_t most) {
  std::vector<Bytes> blobs;
  while (!payload.empty()) {
    Be64 length;
    if (blobs.size() == most || payload.size() < sizeof(length)) return std::nullopt;
    std::memcpy(&length, payload.data(), sizeof(length));
    payload = payload.subspan(sizeof(length));
    if (payload.size() < length) return std::nullopt;
    const std::span<const std::byte> blob = payload.first(length);
    blobs.emplace_back(blob.begin(), blob.end());
    payload = payload.subspan(length);
  }
  return blobs;
}

std::string decode_text(std::span<const std::byte> payload) {
  std::string text(payload.size(), '\0');
  std::ranges::transform(payload, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

Error decode_failure(const Frame& frame) {
  const std::uint32_t detail = frame.header.detail;
  const bool known = detail <= static_cast<std::uint32_t>(Code::internal);
  std::string text = decode_text(frame.payload);
  if (text.empty()) text = "PE 0 ended the job, and did not say why";
  return Error(known ? static_cast<Code>(detail) : Code::internal, std::move(text));
}

}  // namespace gdakit::tcp_wire
