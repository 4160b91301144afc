// What a client has made through an open device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <rdma/ib_user_verbs.h>

#include "backends/softnic/firmware/umems.h"
#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/devx_mailboxes.h"
#include "backends/softnic/uverbs/event_pipe.h"
#include "backends/softnic/uverbs/events.h"
#include "backends/softnic/uverbs/handles.h"
#include "backends/softnic/uverbs/locked_memory.h"
#include "backends/softnic/uverbs/mr_values.h"
#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs {

// Whether the NIC has no such object any more: so it is after a time-out, too, but may still use
// the object's memory.
inline bool is_gone(const Result<void>& ended) {
  return ended || ended.error().code() == Code::timed_out;
}

struct Pd final : Object {
  static constexpr ObjectType kType = ObjectType::pd;
  Pd() : Object(kType) {}
  Result<void> end(Context& context) override;

  PdNumber number = 0;
};

// A piece of the device's memory.
struct Dm final : Object {
  static constexpr ObjectType kType = ObjectType::dm;
  Dm() : Object(kType) {}
  Result<void> end(Context& context) override;
  std::uint64_t length = 0;  // bytes, as the client asked for them
  std::uint64_t first = 0, pages = 0;
};

struct Mr final : Object {
  static constexpr ObjectType kType = ObjectType::mr;
  Mr() : Object(kType) {}
  Result<void> end(Context& context) override;

  Use<Pd> pd;
  Use<Dm> dm;  // of a region of the device's memory
  MemoryKey key = 0;
  MrAttributes attributes;
  LockedRange locked;
  // As the client gave them.
  RegionPlace place;
  std::uint32_t access = 0;  // ib_uverbs_access_flags
};

struct Mw final : Object {
  static constexpr ObjectType kType = ObjectType::mw;
  Mw() : Object(kType) {}
  Result<void> end(Context& context) override;

  Use<Pd> pd;
  MemoryKey key = 0;  // as it was allocated: binds choose its low byte
};

struct UarPage final : Object {
  static constexpr ObjectType kType = ObjectType::uar;
  UarPage() : Object(kType) {}
  Result<void> end(Context& context) override;

  UarNumber number = 0;
};

struct Cq final : Object {
  static constexpr ObjectType kType = ObjectType::cq;
  Cq() : Object(kType) {}
  Result<void> end(Context& context) override;

  CqNumber number = 0;
  std::uint32_t entries = 0;
  EventCounts told;  // once it has ended
};

struct Xrcd final : Object {
  static constexpr ObjectType kType = ObjectType::xrcd;
  Xrcd() : Object(kType) {}
  Result<void> end(Context& context) override;

  XrcdNumber number = 0;  // which open devices may share
};

struct Srq final : Object {
  static constexpr ObjectType kType = ObjectType::srq;
  Srq() : Object(kType) {}
  Result<void> end(Context& context) override;

  SrqNumber number = 0;
  Use<Pd> pd;
  // Of one of XRC.
  Use<Xrcd> xrcd;
  Use<Cq> cq;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  EventCounts told;  // once it has ended
};

// What clients make as a queue pair of their driver's own type (IB_UVERBS_QPT_DRIVER).
inline constexpr std::uint32_t kDciType = 0x100, kDctType = 0x101;

// A target of DC, which the firmware makes when it comes to state RTR.
struct DctRequest {
  QpState state = QpState::reset;
  std::uint64_t access_key = 0;
  std::uint32_t user_index = 0;
};

struct Qp final : Object {
  static constexpr ObjectType kType = ObjectType::qp;
  Qp() : Object(kType) {}
  Result<void> end(Context& context) override;

  // Of XRC: other clients may have it, too.
  bool is_target() const { return xrcd.get() != nullptr; }

  QpNumber number = 0;
  Uid uid = kNicUid;                // of its commands
  Listener listener;                // by which its client is told of it
  std::uint32_t type = 0;           // ib_uverbs_qp_type, kDciType or kDctType
  std::unique_ptr<DctRequest> dct;  // of a target of DC, whose number is 0 as long as there is none
  ServiceType service = ServiceType::rc;
  Use<Xrcd> xrcd;  // of a target of XRC, which has none of the following
  Use<Pd> pd;
  Use<Cq> send_cq;
  Use<Cq> receive_cq;
  Use<Srq> srq;
  std::map<Gid, KeptFile> groups;  // of multicast, that it is in
  // As it was made and modified. Apart, since the struct has an open end.
  std::unique_ptr<ib_uverbs_query_qp_resp> known = std::make_unique<ib_uverbs_query_qp_resp>();
  EventCounts told;  // once it has ended

 private:
  Result<void> end_target(Context& context);  // of DC
};

struct Ah final : Object {
  static constexpr ObjectType kType = ObjectType::ah;
  Ah() : Object(kType) {}
  Result<void> end(Context& context) override;

  Use<Pd> pd;
};

// What a firmware command of the client's has made.
struct DevxObject final : Object {
  static constexpr ObjectType kType = ObjectType::devx;
  DevxObject() : Object(kType) {}
  Result<void> end(Context& context) override;

  DevxName name;
  format::prm::Opcode destroy{};
};

struct DevxUmem final : Object {
  static constexpr ObjectType kType = ObjectType::umem;
  DevxUmem() : Object(kType) {}
  Result<void> end(Context& context) override;

  UmemNumber number = 0;
  Umem umem;
  LockedRange locked;
};

}  // namespace gdakit::softnic::uverbs
