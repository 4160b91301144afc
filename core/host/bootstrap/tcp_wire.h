// What the TCP bootstrap sends: a fixed handshake, then frames.
//
//   member                              hub (in PE 0)
//     Hello, with a nonce  ------------>
//            <------------------------- Welcome (challenge), the hub's nonce
//     Proof  ------------------------->   knows the secret? fits into the job?
//            <------------------------- Welcome (verdict), the hub's Proof if it is accepted
//     Frame  ------------------------->   one for each collective call; leave, abort
//            <------------------------- Frame   answer, refusal, failure; lost, ended_by
//
// A Frame is a FrameHeader and `length` bytes of payload. The receiver checks type and length
// before it reads on, and reserves memory as the payload arrives. The payload of a collective call
// and of an answer is blobs: for each one its length (Be64) and its bytes. The payload of the
// others is text.
//
// The secret itself is never sent (job_proof.h). It keeps strangers and the PEs of other jobs out,
// and tells a member of a false hub; but what is sent later is neither encrypted nor signed, so it
// does not help against someone who changes what goes over the network, or passes on what both ends
// say. Whoever hears a proof can try secrets on it, which finds one that can be guessed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/endian.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::tcp_wire {

inline constexpr std::array<char, 8> kMagic = {'G', 'D', 'A', 'K', 'I', 'T', 'B', 'S'};
inline constexpr std::uint32_t kVersion = 4;

using Nonce = std::array<std::uint8_t, 16>;
using Proof = std::array<std::uint8_t, 32>;

struct Hello {
  std::array<char, 8> magic;
  Be32 version;
  Be32 rank;
  Be32 size;
  Be32 reserved;
  Nonce nonce;
};
static_assert(sizeof(Hello) == 40);

enum class Verdict : std::uint32_t {
  accepted,
  wrong_version,
  wrong_secret,
  wrong_size,
  rank_out_of_range,
  duplicate_rank,
  job_ending,  // this rank has left; a later job on this socket may take it: try again
  no_descriptors,
  challenge,  // none yet: a nonce follows, and a proof is waited for
};

// What a verdict says to both sides, the cause first, then the variable to look at.
const char* verdict_text(Verdict verdict);

struct Welcome {
  std::array<char, 8> magic;
  Be32 version;
  Be32 verdict;
  Be32 size;  // the hub's
  Be32 reserved;
};
static_assert(sizeof(Welcome) == 24);

// 1 to 5 are the values of CollectiveKind. A refusal answers a call with an error that is not
// final. The PE that is lost, and the one that has ended the job, by its loss or by abort, are told
// at any time.
enum class FrameType : std::uint32_t {
  leave = 16,
  abort,
  answer,
  failure,
  refusal,
  lost,
  ended_by
};

struct FrameHeader {
  Be16 purpose;  // of a collective call; else 0
  Be16 type;
  Be32 detail;    // root of a broadcast; Code of a failure or refusal; PE of lost and ended_by
  Be64 sequence;  // of a collective call and its answer; else 0
  Be64 length;    // of the payload that follows
};
static_assert(sizeof(FrameHeader) == 24);

struct Frame {
  FrameHeader header;
  Bytes payload;
};

// The longest texts; longer ones are cut.
inline constexpr std::size_t kMaxTextBytes = 4096;

// The most that frames of the header's type have as payload: text, or as much as a call may give.
// A type that there is not has none.
std::uint64_t longest_payload(const FrameHeader& header);

// The collective call that a frame stands for; none if its type is no CollectiveKind.
std::optional<CollectiveCall> call_of(const FrameHeader& header);

// A word of the handshake as it goes on the wire: Hello, Welcome, Nonce, Proof.
template <class T>
Bytes encode(const T& word) {
  static_assert(std::has_unique_object_representations_v<T>, "no padding may be sent");
  const auto bytes = std::as_bytes(std::span<const T, 1>(&word, 1));
  return Bytes(bytes.begin(), bytes.end());
}

// Frames as they go on the wire.
Bytes encode_call(const CollectiveCall& call, const std::vector<std::span<const std::byte>>& blobs);
Bytes encode_answer(std::uint64_t sequence, const std::vector<std::span<const std::byte>>& blobs);
Bytes encode_text(FrameType type, std::uint32_t detail, std::string_view text);

// The blobs of a payload; none if the lengths in it do not add up, or if there are more than
// `most`.
std::optional<std::vector<Bytes>> decode_blobs(std::span<const std::byte> payload,
                                               std::size_t most);
std::string decode_text(std::span<const std::byte> payload);
// The error that a failure or refusal frame carries.
Error decode_failure(const Frame& frame);

}  // namespace gdakit::tcp_wire
