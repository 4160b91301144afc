// One NIC of a fuzz run: its memory lies in an arena between guards, and all that may not change is
// watched.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/mkey_lists.h"

namespace gdakit::softnic::test {

inline constexpr std::size_t kGuard = 4096;
inline constexpr std::uint8_t kCanary = 0xc5;
inline constexpr std::size_t kRegion = 8192;
inline constexpr std::uint32_t kLogSq = 6;
inline constexpr std::uint32_t kLogRq = 4;
inline constexpr std::uint32_t kLogRqStride = 6;
inline constexpr std::uint32_t kLogCq = 9;
inline constexpr std::uint32_t kLogOtherCq = 4;
inline constexpr std::uint32_t kRegions = 4;
inline constexpr std::uint32_t kListKey = kRegions;  // a key of parts of the regions
inline constexpr std::uint32_t kKeys = kListKey + 1;
inline constexpr std::uint32_t kListEntries = 16;
inline constexpr std::uint64_t kFuzzDcKey = 0x1122334455667788;

// Parts of one arena, with guards between them.
class Arena {
 public:
  explicit Arena(std::size_t size) : pages_(size) { std::memset(pages_.data(), kCanary, size); }

  std::uint8_t* carve(std::size_t size) {
    used_ += kGuard;
    std::uint8_t* part = pages_.data() + used_;
    parts_.push_back({used_, size});
    std::memset(part, 0, size);
    used_ += round_up(size, kGuard);
    return part;
  }
  bool guards_hold() const {
    std::size_t at = 0;
    const auto holds = [&](std::size_t end) {
      for (; at < end; ++at) {
        if (pages_.data()[at] != kCanary) return false;
      }
      return true;
    };
    for (const Part& part : parts_) {
      if (!holds(part.offset)) return false;
      at = part.offset + part.size;
    }
    return holds(pages_.size());
  }

 private:
  struct Part {
    std::size_t offset, size;
  };
  Pages pages_;
  std::size_t used_ = 0;
  std::vector<Part> parts_;
};

// Memory that only the client writes, and what it wrote there.
class Watched {
 public:
  Watched(Arena& arena, std::size_t size) : bytes_(arena.carve(size)), shadow_(size) {}
  std::uint8_t* data() const { return bytes_; }
  std::size_t size() const { return shadow_.size(); }
  void write(std::size_t at, const void* from, std::size_t count) {
    std::memcpy(bytes_ + at, from, count);
    std::memcpy(shadow_.data() + at, from, count);
  }
  bool unchanged() const { return std::memcmp(bytes_, shadow_.data(), shadow_.size()) == 0; }

 private:
  std::uint8_t* bytes_;
  std::vector<std::uint8_t> shadow_;
};

// The next CQEs of a queue, checked.
struct WatchedCq {
  WatchedCq(Arena& arena, bool sends)
      : is_send(sends), memory(arena.carve(sizeof(format::Cqe64) << kLogCq)) {
    std::memset(memory, format::kInvalidCqeByte, sizeof(format::Cqe64) << kLogCq);
  }

  std::string check(QpNumber qpn);
  std::string check_error(const format::Cqe64& cqe);

  bool is_send;
  std::uint8_t* memory;
  std::uint64_t consumer = 0;
  std::vector<format::Syndrome> errors;
};

// What a side's queue pair is: of RC, an end of XRC, or an initiator of DC with a target beside it.
enum class FuzzKind : std::uint8_t { rc, initiator, target, dc };

// One NIC with one QP and four regions: all rights, local rights only, read-only, zero-based with
// all rights; and a zero-based key of parts of these. Its receive queue may be a shared one of this
// form; a target has one.
struct FuzzSide {
  FuzzSide(std::unique_ptr<Wire> packets, std::uint32_t psn, const EngineOptions& options,
           FuzzKind which, std::optional<SrqForm> form)
      : arena(32 * kGuard + (sizeof(format::Cqe64) << (kLogCq + 1)) + kRegions * kRegion),
        sq(arena, format::kWqebbBytes << kLogSq),
        rq(arena, std::size_t{1} << (kLogRq + kLogRqStride)),
        record(arena, sizeof(format::DoorbellRecord)),
        send_cq(arena, true),
        receive_cq(arena, false),
        other_cq(arena.carve(sizeof(format::Cqe64) << kLogOtherCq)),
        read_only(arena, kRegion),
        wire(std::move(packets)),
        engine(options, port, *wire),
        send_psn(psn),
        kind(which),
        shared(form) {
    for (std::uint32_t i = 0; i < kRegions; ++i) {
      regions[i] = i == 2 ? read_only.data() : arena.carve(kRegion);
    }
    pd = *engine.alloc_pd();
    uar = *engine.alloc_uar(UarType::dense);
    for (std::uint32_t i = 0; i < kRegions; ++i) register_region(i);
    make_list(parts_of_all());
    QpAttributes qp;
    qp.pd = pd;
    qp.send_cq = *engine.create_cq({host_address(send_cq.memory), kLogCq, false, true, {}});
    qp.receive_cq = *engine.create_cq({host_address(receive_cq.memory), kLogCq, false, true, {}});
    qp.uar = uar;
    qp.send_queue = host_address(sq.data());
    qp.log_send_wqebbs = kLogSq;
    qp.has_receive_queue = kind == FuzzKind::rc && !shared;
    if (kind == FuzzKind::rc && shared) qp.srq = *create_srq(pd, *shared, kNicUid);
    if (kind != FuzzKind::rc) qp.service = ServiceType::xrc;
    if (kind == FuzzKind::dc) {
      qp.service = ServiceType::dc;
      target = {.pd = pd, .cq = qp.receive_cq, .srq = *create_srq(pd, *shared, kNicUid)};
      target.access_key = kFuzzDcKey;
      target.access = Access::all;
      make_target();
    }
    if (kind == FuzzKind::target) {
      qp.xrc_domain = *engine.alloc_xrcd();
      xrc = {qp.xrc_domain, qp.receive_cq, 0x77};
      make_named_srq();
    }
    qp.receive_queue = host_address(rq.data());
    qp.log_receive_wqes = kLogRq;
    qp.log_receive_stride = kLogRqStride;
    qp.doorbell_record = host_address(record.data());
    qpn = *engine.create_qp(qp);
  }

  void make_target() { dct = *engine.create_dct(target); }
  // Ends the target of DC; the next one is made when it has come to its end.
  void renew_target() {
    static_cast<void>(engine.drain_dct(dct));
    if (engine.destroy_dct(dct)) make_target();
  }

  // The one that packets of XRC name, in place of the last one if it has gone.
  void make_named_srq() { named_srq = *create_srq(pd, *shared, kNicUid, xrc); }

  // With the memory of the receive queue.
  Outcome<SrqNumber> create_srq(PdNumber of, SrqForm form, Uid uid,
                                std::optional<XrcSrqAttributes> of_xrc = {}) {
    SrqAttributes srq;
    srq.xrc = of_xrc;
    srq.pd = of;
    srq.form = form;
    srq.wqes = host_address(rq.data());
    srq.log_wqes = kLogRq;
    srq.log_stride = kLogRqStride;
    srq.doorbell_record = host_address(record.data());
    return engine.create_srq(srq, uid);
  }

  void register_region(std::uint32_t i) {
    constexpr std::array<Access, kRegions> kRights = {
        Access::all, Access::local_read | Access::local_write,
        Access::local_read | Access::remote_read, Access::all};
    MrAttributes mr;
    mr.pd = pd;
    mr.base = host_address(regions[i]);
    mr.start = i == 3 ? 0 : mr.base.value;
    mr.length = kRegion;
    mr.access = kRights[i];
    keys[i] = *engine.reg_mr(mr);
  }
  void make_list(const std::vector<KeyListEntry>& entries);
  std::vector<KeyListEntry> parts_of_all() const;
  std::uint64_t iova(std::uint32_t i) const { return i >= 3 ? 0 : host_address(regions[i]).value; }

  void connect(const FuzzSide& peer) { connect(peer.wire->endpoint(), peer.qpn, peer.send_psn); }
  void connect(Endpoint endpoint, QpNumber peers_qpn, std::uint32_t peers_psn) {
    QpModify modify;
    modify.access = Access::all;
    modify.path.endpoint = endpoint;
    modify.remote_qpn = peers_qpn;
    modify.next_send_psn = send_psn;
    modify.next_receive_psn = peers_psn;
    modify.log_msg_max = 16;
    modify.ack_timeout = 4;
    modify.retry_count = 3;
    modify.rnr_retry = 2;
    modify.min_rnr_nak = 1;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      static_cast<void>(engine.modify_qp(qpn, modify));
    }
  }
  // Puts a WQE behind those that are posted.
  void write_segments(const std::vector<format::Segment>& segments) {
    const std::uint64_t mask = (std::uint64_t{format::kSegmentsPerWqebb} << kLogSq) - 1;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::uint64_t slot = (producer * format::kSegmentsPerWqebb + i) & mask;
      sq.write(slot * format::kSegmentBytes, &segments[i], format::kSegmentBytes);
    }
  }
  std::string check() {
    std::string wrong = send_cq.check(qpn);
    if (wrong.empty()) wrong = receive_cq.check(kind == FuzzKind::dc ? dct : qpn);
    return wrong;
  }
  std::string check_memory() const;
  std::string check_rest();

  Arena arena;
  Watched sq, rq, record;
  WatchedCq send_cq, receive_cq;
  std::uint8_t* other_cq;  // of queue pairs that nobody watches
  Watched read_only;
  std::array<std::uint8_t*, kRegions> regions{};
  HostDma port;
  std::unique_ptr<Wire> wire;
  Engine engine;
  std::uint32_t send_psn;
  FuzzKind kind;
  std::optional<SrqForm> shared;
  std::optional<XrcSrqAttributes> xrc;
  SrqNumber named_srq = 0;
  DctAttributes target;
  DctNumber dct = 0;
  PdNumber pd = 0;
  UarNumber uar = 0;
  std::array<MemoryKey, kKeys> keys{};
  QpNumber qpn = 0;
  std::uint64_t producer = 0;
  std::uint64_t receive_producer = 0;
};

}  // namespace gdakit::softnic::test
