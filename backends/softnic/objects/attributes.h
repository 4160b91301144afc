// The words of the soft ConnectX's control path: numbers of objects, attributes, states.
//
// These are what a firmware command carries on hardware. Names are the PRM's where it has one.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/qp_fields.h"
#include "core/format/cqe.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {

// A place in memory that the NIC reaches through its DMA port; what it means is the port's
// business.
struct DmaAddress {
  std::uint64_t value = 0;

  friend constexpr DmaAddress operator+(DmaAddress address, std::uint64_t offset) {
    return {address.value + offset};
  }
  friend constexpr bool operator==(DmaAddress, DmaAddress) = default;
};

inline constexpr std::uint64_t kGpuMemoryBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kPinnedMemoryBit = std::uint64_t{1} << 62;

// Of a region that is registered for on-demand paging (dma/on_demand.h).
inline constexpr std::uint64_t kOnDemandBit = std::uint64_t{1} << 61;

constexpr bool is_on_demand(DmaAddress address) { return (address.value & kOnDemandBit) != 0; }
constexpr bool is_gpu(DmaAddress address) { return (address.value & kGpuMemoryBit) != 0; }
constexpr bool is_pinned(DmaAddress address) { return (address.value & kPinnedMemoryBit) != 0; }
// Whether a GPU reaches it: its own memory, or pinned memory.
constexpr bool reached_by_gpu(DmaAddress address) { return is_gpu(address) || is_pinned(address); }
// The pointer without the bits.
constexpr std::uint64_t plain_address(DmaAddress address) {
  return address.value & ~(kGpuMemoryBit | kPinnedMemoryBit | kOnDemandBit);
}

using PdNumber = std::uint32_t;
using CqNumber = std::uint32_t;
using QpNumber = std::uint32_t;    // 24 bits
using DctNumber = std::uint32_t;   // 24 bits, of the space of queue pairs
using SrqNumber = std::uint32_t;   // 24 bits
using XrcdNumber = std::uint32_t;  // 24 bits
using UarNumber = std::uint32_t;
using Endpoint = std::uint32_t;      // a NIC's address on its wire
using PartitionKey = std::uint16_t;  // full member[15] partition[14:0]
using MemoryKey = std::uint32_t;     // index[31:8] variant[7:0]; lkey and rkey alike

// Rights of a memory key (mkc lr, lw, rr, rw, a) and of a queue pair (qpc rre, rwe, rae).
enum class Access : std::uint8_t {
  none = 0,
  local_read = 1,
  local_write = 2,
  remote_read = 4,
  remote_write = 8,
  remote_atomic = 16,
  all = 31,
  bind = 32,  // of memory that windows may be bound to
};
constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Access without(Access a, Access b) {
  return static_cast<Access>(static_cast<unsigned>(a) & ~static_cast<unsigned>(b));
}
constexpr bool allows(Access granted, Access wanted) {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) ==
         static_cast<unsigned>(wanted);
}

// What a doorbell page is.
enum class UarType : std::uint8_t {
  // As on ConnectX: the first eight bytes of each half of its two registers ring. They name the
  // queue pair; how far it is announced is read from its doorbell record, so that stores to one
  // register for several queue pairs, and stores of four bytes each, announce nothing wrong. What
  // BlueFlame copies behind them is not looked at.
  registers,
  // For queue pairs of gdakit's own: every eight bytes of the registers are one of their own, which
  // say by themselves how far the queue pair is announced.
  dense,
};

struct MemoryRange {
  DmaAddress base;
  std::uint64_t length = 0;  // bytes
};

// The number of multicast packets, which, in a memory key, stands for no queue pair.
inline constexpr QpNumber kMulticastQp = kind_row(ObjectKind::qp).limit;
inline constexpr QpNumber kAnyQp = kMulticastQp;

struct MrAttributes {
  PdNumber pd = 0;
  DmaAddress base;           // where the first byte lies, unless there are pages; may be on demand
  std::uint64_t start = 0;   // iova of the first byte: base.value usually, 0 if zero-based
  std::uint64_t length = 0;  // bytes
  Access access = Access::none;
  QpNumber qpn = kAnyQp;                // the one QP that may use the key
  std::optional<std::uint8_t> variant;  // low byte of the key; chosen by the NIC if absent
  // Where the bytes lie if not in one piece: pages of 2^log_page_size bytes, aligned to that. The
  // first byte lies in the first page, at the offset that the low bits of `start` say.
  std::vector<DmaAddress> pages = {};
  std::uint8_t log_page_size = 12;  // 12 to 31
};

// Which kind of memory window: who may end what it grants, and for whom that is.
enum class WindowType : std::uint8_t {
  type_1 = 1,  // for any queue pair; another bind takes the place of one before
  type_2 = 2,  // for one queue pair; it ends by a WQE of either side before the next bind
};

// cqc.cqe_sz. Of an entry of 128 bytes the second half is the CQE; the first is left as it is.
enum class CqeSize : std::uint8_t { bytes_64 = 0, bytes_128 = 1 };
constexpr std::uint32_t entry_bytes(CqeSize size) { return 64u << static_cast<unsigned>(size); }

// How long an armed CQ's event may be held back: until there are so many CQEs that it tells of, or
// so long since the first of them. Of both 0 nothing is held back.
struct CqModeration {
  std::uint16_t period_us = 0;  // at most kMostCqPeriodUs
  std::uint16_t max_count = 0;
};
inline constexpr std::uint32_t kMostCqPeriodUs = 0xfff;

struct CqAttributes {
  DmaAddress entries;             // 64-byte aligned
  std::uint32_t log_entries = 0;  // at most 22
  bool collapsed = false;         // cqc.cc: every CQE goes to slot 0
  bool overrun_ignore = false;    // cqc.oi: the consumer index is never looked at
  // format::CqDoorbellRecord, 8-byte aligned. Its first word is unused if oi, its second one if
  // there is no `uar`.
  DmaAddress doorbell_record;
  // cqc.uar_page, of type registers: the CQ is armed through it, and by no other. 0: it is never
  // armed. The record's arm word is looked at from the beginning on, and a word of zeroes is an
  // arm: its owner stores format::kCqNotArmed there first.
  UarNumber uar = 0;
  CqeSize cqe_size = CqeSize::bytes_64;
  CqModeration moderation = {};
};

// Where a CQ's entries are from now on.
struct CqResize {
  DmaAddress entries;             // 64-byte aligned
  std::uint32_t log_entries = 0;  // at most 22
  CqeSize cqe_size = CqeSize::bytes_64;
};

// cqc.status and cqc.st, as QUERY_CQ tells them.
enum class CqStatus : std::uint8_t { ok = 0, overflow = 9 };
enum class CqArmed : std::uint8_t { solicited = 6, any = 9, fired = 0xa };

struct CqInfo {
  CqStatus status = CqStatus::ok;
  CqArmed armed = CqArmed::fired;
  // 24 bits each.
  std::uint32_t producer_counter = 0;
  std::uint32_t consumer_counter = 0;  // as last read from the doorbell record
  std::uint32_t last_notified_index = 0;
  std::uint32_t last_solicit_index = 0;
};

// How the WQEs of a shared receive queue lie, and in which order they are taken.
enum class SrqForm : std::uint8_t {
  // From WQE 0 on each WQE's first segment names the next one, as it stands when the WQE is taken.
  // A CQE's wqe_counter is the WQE's index. wq.wq_type 0, and the SRQ object.
  list,
  // In the order of memory, round and round; the first segment says nothing. A CQE's wqe_counter
  // counts. wq.wq_type 1.
  cyclic,
  // The same, and data segments are all that WQEs have. rmpc.basic_cyclic_rcv_wqe.
  basic_cyclic,
};

// What a shared receive queue of XRC has beside the others: its queue pairs are the targets of its
// domain, and have neither a CQ nor a user index of their own.
struct XrcSrqAttributes {
  XrcdNumber domain = 0;
  CqNumber cq = 0;
  std::uint32_t user_index = 0;  // comes back in each CQE, 24 bits
};

// WQEs and record must stay until the shared receive queue is destroyed.
struct SrqAttributes {
  PdNumber pd = 0;  // its WQEs' keys are of this one, whatever the queue pair's is
  SrqForm form = SrqForm::list;
  DmaAddress wqes;               // 16-byte aligned
  std::uint32_t log_wqes = 0;    // at most 15
  std::uint32_t log_stride = 5;  // log2 of bytes per WQE, 5 to 9; basic_cyclic: 4 to 9
  DmaAddress doorbell_record;    // format::SrqDoorbellRecord, 4-byte aligned
  std::optional<XrcSrqAttributes> xrc = {};
};

struct SrqInfo {
  bool error = false;       // its list leads out of it: queue pairs that want a WQE of it fail
  std::uint32_t limit = 0;  // that is armed; 0: none, or the event was told
  // Counters of WQEs that the record announced when it was last read, and that were taken: the low
  // 16 bits.
  std::uint16_t posted = 0;
  std::uint16_t taken = 0;
};

// What qpc.st says. XRC is a reliable connection, too, but of one way: from an initiator, which has
// a send queue alone, to a target, which has no queue. Each request names the shared receive queue
// that it is for. DC is a reliable connection of one way that an initiator (DCI) makes by itself,
// to the target (DCT) that its WQE names, and ends before it makes one to another.
enum class ServiceType : std::uint8_t { rc, uc, ud, xrc, dc, count };
constexpr bool is_reliable(ServiceType service) {
  return service != ServiceType::uc && service != ServiceType::ud;
}

// Queues and record must stay until the queue pair is destroyed.
struct QpAttributes {
  ServiceType service = ServiceType::rc;
  PdNumber pd = 0;
  CqNumber send_cq = 0;
  CqNumber receive_cq = 0;
  UarNumber uar = 0;  // doorbells through any other page are dropped
  // Of XRC, unless 0: makes it a target, for which all other fields say nothing. Receive WQEs,
  // protection domain and CQ are those of this domain's shared receive queue that a request names.
  XrcdNumber xrc_domain = 0;
  DmaAddress send_queue;              // 64-byte aligned
  std::uint32_t log_send_wqebbs = 0;  // at most 15
  // Takes its receive WQEs from this shared receive queue; it has no receive queue of its own then.
  std::optional<SrqNumber> srq = {};
  bool has_receive_queue = false;
  // Its send queue has no doorbell record (qpc.send_dbr_mode): doorbells, which come at
  // format::kUarNoRecordDoorbell, alone say how far it is. One of a page: in a page of memory a
  // doorbell of another would overwrite its own, and nothing would tell.
  bool no_send_record = false;
  DmaAddress receive_queue;              // 16-byte aligned
  std::uint32_t log_receive_wqes = 0;    // at most 15
  std::uint32_t log_receive_stride = 4;  // log2 of bytes per receive WQE, 4 to 9
  DmaAddress doorbell_record;            // format::DoorbellRecord, 8-byte aligned
  std::uint32_t user_index = 0;          // comes back in each CQE, 24 bits

  bool is_xrc_target() const { return service == ServiceType::xrc && xrc_domain != 0; }
};

enum class QpState : std::uint8_t {
  reset = 0,
  init = 1,
  rtr = 2,
  rts = 3,
  sqer = 4,  // UC and UD: a send WQE has failed; the send queue flushes, the receive queue goes on
  sqd = 5,   // no WQE is started; what had been started completes
  err = 6,
};
const char* qp_state_name(QpState state);
// Whether requests may be on their way.
constexpr bool has_requests(QpState state) {
  return state == QpState::rts || state == QpState::sqd;
}

// The partition of which every port is a full member.
inline constexpr PartitionKey kDefaultPartition = 0xffff;
// Whether a packet of one reaches the other: the same partition, and one of them a full member.
constexpr bool same_partition(PartitionKey a, PartitionKey b) {
  return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) != 0;
}

// The way to a peer (qpc.primary_address_path), and what packets on it are marked with.
struct Path {
  Endpoint endpoint = 0;           // the peer's NIC
  std::uint8_t service_level = 0;  // of what is sent, at most 15; the receiver's CQE tells it
  std::uint8_t traffic_class = 0;
  // Bytes of payload that a PSN stands for at most, the same at both ends: a power of two from 256
  // to the wire's psn_bytes(); 0: that.
  std::uint32_t mtu = 0;
  PartitionKey pkey = kDefaultPartition;  // same_partition() says whose packets are taken
  std::uint32_t qkey = 0;                 // of UD, whose datagrams must have it
};

// Whether a path may have this MTU, where the wire's is `most`.
constexpr bool is_path_mtu(std::uint32_t mtu, std::uint32_t most) {
  constexpr std::uint32_t kLeast = 256;
  return mtu == 0 || (std::has_single_bit(mtu) && mtu >= kLeast && mtu <= most);
}

// What modify_qp sets; which fields, depends on the transition (transitions.h). Fields that are not
// given keep their value.
struct QpModify {
  QpState state = QpState::reset;      // to come to
  std::optional<QpFields> given = {};  // absent: those that the transition requires

  // required from reset to init
  Access access = Access::none;  // the remote_* rights: qpc rre, rwe, rae

  // ... from init to rtr, but for the partition, which is from reset to init
  Path path = {};
  QpNumber remote_qpn = 0;
  std::uint32_t next_receive_psn = 0;
  std::uint8_t log_rra_max = 4;  // 2^n reads and atomics that the peer may have outstanding, n <= 7
  std::uint8_t min_rnr_nak = 12;  // RNR timer code that the peer is told
  std::uint8_t log_msg_max = 30;  // longest message, n <= 30

  // ... from rtr to rts
  // Another, random one for each connection: packets of an old one from the same NIC may come late,
  // and PSNs alone tell them apart.
  std::uint32_t next_send_psn = 0;
  std::uint8_t log_sra_max = 4;   // 2^n own reads and atomics outstanding, n <= 7
  std::uint8_t ack_timeout = 18;  // 4.096 us * 2^n; 0 waits for ever
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;  // 7 retries for ever
  // WQEBBs that count as posted and completed before the first one (qpc hw_sq_wqebb_counter): the
  // queue goes on where another one stopped.
  std::uint64_t send_wqebb_counter = 0;
};

// A target of DC: what initiators reach by its number and its key. It has no queue: receive WQEs
// are those of a shared receive queue, and its CQ takes the CQEs.
struct DctAttributes {
  PdNumber pd = 0;
  CqNumber cq = 0;
  SrqNumber srq = 0;
  std::uint32_t user_index = 0;    // comes back in each CQE, 24 bits
  std::uint64_t access_key = 0;    // that initiators must name
  Access access = Access::none;    // the remote_* rights: dctc rre, rwe, rae
  std::uint8_t min_rnr_nak = 12;   // RNR timer code that initiators are told, at most 31
  std::uint8_t traffic_class = 0;  // of what is sent
  std::uint32_t mtu = 0;           // as Path::mtu
};

// dctc.state.
enum class DctState : std::uint8_t {
  active = 0,
  draining = 1,  // no packet is taken any more; what was under way ends
  drained = 2,   // it has
};

struct DctInfo {
  DctState state = DctState::active;
  std::uint32_t key_violations = 0;  // connects that named another key
  std::uint32_t connections = 0;     // that there are now
};

// The first error that broke a queue.
struct QpError {
  format::Syndrome syndrome = format::Syndrome::none;
  std::uint8_t vendor_syndrome = 0;
  std::uint16_t wqe_index = 0;
  std::uint8_t opcode = 0;  // of the send WQE; 0 for the receive side
  bool responder = false;   // the receive side failed, not a send WQE
};

struct QpInfo {
  QpState state = QpState::reset;
  bool sq_draining = false;  // in state sqd: what its send queue has started is not complete yet
  std::uint32_t next_send_psn = 0;
  std::uint32_t next_receive_psn = 0;
  std::uint32_t last_acked_psn = 0;
  std::uint32_t rmsn = 0;            // messages completed at the peer's request, 24 bits
  std::uint64_t send_producer = 0;   // WQEBBs announced by doorbell or record
  std::uint64_t send_started = 0;    // ... whose transmission has begun
  std::uint64_t send_completed = 0;  // ... that have completed
  // Of its own receive queue: WQEs announced by the record when it was last read, and taken.
  std::uint64_t receive_posted = 0;
  std::uint64_t receive_taken = 0;
  bool record_behind = false;  // the doorbell record has once said less than a doorbell
  QpError first_error;
};

}  // namespace gdakit::softnic
