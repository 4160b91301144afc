// A send WQE decoded: what the requester is asked to do, or the fault that the WQE fails with.
//
// decode() works on a private copy of the WQE, so that a thread that overwrites the slot meanwhile
// can confuse nothing but its own data. It looks at layout alone; resolve_sges() then checks the
// local keys.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/softnic/dma/atomics.h"
#include "backends/softnic/memory/key_change.h"
#include "backends/softnic/memory/keys.h"
#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "core/format/cqe.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {

// Why a WQE or a request fails. Syndrome::none: it does not.
struct Fault {
  format::Syndrome syndrome = format::Syndrome::none;
  std::uint8_t vendor_syndrome = 0;

  explicit operator bool() const { return syndrome != format::Syndrome::none; }
};

inline constexpr Fault kFlushed{format::Syndrome::flushed, format::vendor::flushed};
inline constexpr Fault kMalformedWqe{format::Syndrome::local_qp_operation, 0};
inline constexpr Fault kLocalLength{format::Syndrome::local_length, 0};
inline constexpr Fault kLocalProtection{format::Syndrome::local_protection,
                                        format::vendor::local_protection};
inline constexpr Fault kBindRefused{format::Syndrome::memory_window_bind, 0};
inline constexpr Fault kRemoteAccess{format::Syndrome::remote_access,
                                     format::vendor::remote_access};
inline constexpr Fault kRemoteInvalidRequest{format::Syndrome::remote_invalid_request,
                                             format::vendor::remote_invalid_request};

// From `read` on: those that WRITEs and SENDs need not be looked at for.
enum class RequestKind : std::uint8_t { nop, dump, write, send, read, atomic, key_change };

// Does the request keep a response resource of the peer busy (log_sra_max), and do fences wait for
// it?
constexpr bool has_response_data(RequestKind kind) {
  return kind == RequestKind::read || kind == RequestKind::atomic;
}

// Whether a WQE that has succeeded makes a CQE.
constexpr bool asks_for_cqe(format::Completion completion) {
  return completion == format::Completion::always || completion == format::Completion::with_event;
}

// A piece of local memory. Inline data lies in the send queue itself and needs no key.
struct Sge {
  std::uint64_t iova = 0;
  DmaAddress place;        // of its first byte, known once resolved
  std::uint32_t size = 0;  // at most 2^31
  MemoryKey lkey = 0;
  bool in_queue = false;
  bool in_pieces = false;  // only a part of it lies at `place`, or is there by another key
};

// A WQE has at most 61 data segments; an inline segment that wraps around the queue's end makes two
// pieces.
inline constexpr std::uint32_t kMaxSges = 64;

// The first ones lie in the request, and all others in memory that it gets with the first of them
// and keeps: of a million queue pairs most never have more.
class SgeList {
 public:
  Sge& operator[](std::uint32_t index) {
    if (index < kFew) return few_[index];
    if (more_ == nullptr) more_ = std::make_unique<std::array<Sge, kMaxSges - kFew>>();
    return (*more_)[index - kFew];
  }
  // One that was named before.
  const Sge& operator[](std::uint32_t index) const {
    return index < kFew ? few_[index] : (*more_)[index - kFew];
  }

 private:
  static constexpr std::uint32_t kFew = 4;

  std::array<Sge, kFew> few_;
  std::unique_ptr<std::array<Sge, kMaxSges - kFew>> more_;
};

struct Request {
  RequestKind kind = RequestKind::nop;
  format::Opcode opcode = format::Opcode::nop;
  format::FenceMode fence = format::FenceMode::none;
  format::Completion completion = format::Completion::on_error;
  bool solicited = false;
  bool has_imm = false;
  bool invalidates = false;  // then `imm` is the peer's key
  std::uint8_t wqebbs = 1;
  std::uint32_t imm = 0;
  MemoryKey rkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t length = 0;  // of the message
  // All of a short inline message, within the WQE that was decoded; else null.
  const std::uint8_t* small = nullptr;
  AtomicRequest atomic;
  AddressVector address;                  // of a datagram
  SrqNumber xrc_srq = 0;                  // of XRC: the peer's that it is for
  std::unique_ptr<KeyChange> key_change;  // of a request of that kind
  std::uint32_t sge_count = 0;
  SgeList sges;
};

// Where a WQE stands: what its control segment must agree with.
struct WqePlace {
  std::uint64_t index = 0;             // WQEBBs since the queue began
  std::uint32_t available_wqebbs = 0;  // announced, and readable at `wqe`
  QpNumber qpn = 0;
  DmaAddress queue;
  std::uint64_t queue_bytes = 0;  // a power of two
  std::uint8_t log_msg_max = 30;
  // What stands behind the control segment: of UD the address vector of a SEND, of DC that of any
  // request, of XRC the number of the shared receive queue that a request is for.
  ServiceType service = ServiceType::rc;
};

// Reads only the first available_wqebbs * 64 bytes. On a fault the opcode, completion and wqebbs of
// `request` are still what the control segment says (at least 1, at most available_wqebbs).
Fault decode(const std::uint8_t* wqe, const WqePlace& place, Request& request);

// Finds the SGEs' places; `wanted` is local_read or local_write.
Fault resolve_sges(const KeyTable& keys, PdNumber pd, QpNumber qpn, Access wanted,
                   Request& request);

}  // namespace gdakit::softnic
