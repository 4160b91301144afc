// What libibverbs and libmlx5 do of an open device, by calls alone: objects are made and taken
// away, work is posted by hand, and CQEs are polled.
//
//   Client client(device);   // of service type RC; UC and UD: client.type = IB_UVERBS_QPT_UD
//   client.make_all();
//   client.connect(peer);
//   client.post_send({"abc", 3});
//   format::Cqe64 cqe = client.next(client.send_cq);
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/uverbs/context.h"
#include "core/base/file_descriptor.h"
#include "core/format/address_vector.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"
#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs::test {

inline constexpr std::uint32_t kQueue = 16;  // WQEs of a queue, entries of a CQ
inline constexpr std::uint32_t kReceiveShift = 4;
inline constexpr std::size_t kPayloadBytes = 8192;
inline constexpr std::uint32_t kQkey = 0x11223344;  // of queue pairs of UD

// Of UDP, with those of the places behind it: free a moment ago, and below those that the system
// gives away.
std::uint16_t free_port();

// A page of doorbell registers, mapped through the device's file.
class UarMapping {
 public:
  UarMapping(Device& device, std::uint64_t offset, std::uint32_t length);
  UarMapping(const UarMapping&) = delete;
  UarMapping& operator=(const UarMapping&) = delete;
  ~UarMapping();
  void store(std::uint32_t offset, std::uint64_t value) const;

 private:
  void* page_;
  std::uint32_t length_;
};

struct CqMemory {
  alignas(64) std::array<format::Cqe64, kQueue> entries;
  alignas(64) std::array<std::uint32_t, 2> record{};
};

// A completion queue as its client has it.
struct ClientCq {
  std::unique_ptr<CqMemory> memory = std::make_unique<CqMemory>();
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint32_t consumer = 0;
  std::uint64_t user_handle = 0;
};

struct QueueMemory {
  // As libmlx5 lays it out: the receive queue first, the send queue behind it.
  alignas(64) std::array<format::Segment, kQueue> receive{};
  std::array<format::Wqebb, kQueue> send{};
  alignas(64) std::array<std::uint32_t, 2> record{};
};

class Client {
 public:
  explicit Client(Device& device, bool with_devx = false);

  // Everything below, in this order, each checked.
  void make_all(bool with_channel = false);
  std::uint32_t make_pd();
  std::uint32_t make_mr(std::uint32_t flags);
  std::uint32_t make_uar();
  int make_channel();
  void make_cq(ClientCq& cq, std::optional<int> of_channel = {});
  // It takes receives from the shared receive queue with this handle, if there is one.
  std::uint32_t make_qp(std::optional<std::uint32_t> of_srq = {});

  // create_cq and create_qp as calls that may be changed before they are made.
  Call cq_call(ClientCq& cq, const mlx5_ib_create_cq& driver) const;
  mlx5_ib_create_cq cq_driver(const ClientCq& cq) const;
  Call qp_call(const mlx5_ib_create_qp& driver);
  mlx5_ib_create_qp qp_driver() const;

  // An errno value each. `object` and `method` are of the destruction, `id` of its handle.
  int destroy(std::uint16_t object, std::uint16_t method, std::uint16_t id, std::uint32_t handle);
  int destroy_pd(std::uint32_t handle);
  int destroy_mr(std::uint32_t handle);
  int destroy_uar(std::uint32_t handle);
  int destroy_cq(std::uint32_t handle, ib_uverbs_destroy_cq_resp* answer = nullptr);
  int destroy_qp(std::uint32_t handle);

  // Requests of modify_qp, with the mask that the type requires, and the calls.
  ib_uverbs_modify_qp to_init() const;
  ib_uverbs_modify_qp to_rtr(std::uint32_t peers_qpn) const;
  ib_uverbs_modify_qp to_rts() const;
  ib_uverbs_modify_qp to_state(std::uint8_t state) const;
  int modify(const ib_uverbs_modify_qp& request);
  ib_uverbs_query_qp_resp query();
  // Through all states to RTS.
  void connect(const Client& peer);

  void post_receive(std::size_t at, std::uint32_t size);
  void post_send(std::size_t from, std::uint32_t size, bool solicited = false);
  void post_write(std::size_t from, std::uint32_t size, std::uint64_t to, std::uint32_t rkey);
  // From an initiator of XRC, to the peer's shared receive queue of this number.
  void post_xrc_send(std::size_t from, std::uint32_t size, std::uint32_t srqn);
  // To a queue pair of UD. The address vector says where, but for its QPN and Q_Key.
  void post_datagram(std::size_t from, std::uint32_t size, const format::AvSegment& to,
                     std::uint32_t to_qpn, std::uint32_t qkey = kQkey);
  // From an initiator of DC, to the target of this number.
  void post_to_target(std::size_t from, std::uint32_t size, const format::AvSegment& to,
                      std::uint32_t dctn, std::uint64_t dc_key);
  // Arms the queue for its next CQE, as ibv_req_notify_cq.
  void arm(ClientCq& cq, std::uint32_t arm_sn);
  // The next CQE, which is consumed; throws after a long while.
  format::Cqe64 next(ClientCq& cq);

  std::byte* payload() { return reinterpret_cast<std::byte*>(payload_.get()); }
  std::uint64_t address(std::size_t at) const { return address_of(payload_.get()) + at; }

  Device& device;
  std::uint32_t type = IB_UVERBS_QPT_RC;  // of the queue pairs that it makes
  std::uint8_t gid_index = 1;             // by which it is reached
  std::unique_ptr<QueueMemory> queues = std::make_unique<QueueMemory>();
  ClientCq send_cq, receive_cq;
  std::uint32_t pd = 0, mr = 0, key = 0, uar = 0, uar_number = 0, qp = 0, qpn = 0;
  int channel = -1;

 private:
  // A SEND behind this address vector.
  void post_with(format::AvSegment& av, std::uint32_t number, std::size_t from, std::uint32_t size);
  void post(format::Opcode opcode, const std::vector<format::Segment>& rest, bool solicited);

  std::unique_ptr<std::uint64_t[]> payload_ =
      std::make_unique<std::uint64_t[]>(kPayloadBytes / sizeof(std::uint64_t));
  std::unique_ptr<UarMapping> registers_;
  UniqueFileDescriptor channel_file_;
  std::uint32_t sent_ = 0, received_ = 0;

 public:
  // It closes before the memory goes that its objects name.
  std::unique_ptr<Context> context;
};

}  // namespace gdakit::softnic::uverbs::test
