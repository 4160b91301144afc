// The firmware of the soft ConnectX: takes commands as mailboxes (core/format/prm), and carries
// them out on the engine's objects.
//
//   Firmware firmware(engine, addresses);
//   const UmemNumber umem = firmware.add_umem({memory, uid});
//   prm::Mailbox<prm::CreateCqIn> in;         // opcode, uid, cqc, umem
//   prm::Mailbox<prm::CreateCqOut> out;
//   firmware.execute(in.bytes(), out.bytes());  // between two of the engine's steps
//
// Each object belongs to the uid of the command that has made it. Those that the engine's own calls
// have made are found by numbers in commands, too, but not changed or asked about by them.
//
// A command of the kernel's may name memory without a umem: what would be the offset in one is an
// address for DMA then. Real firmware takes a list of pages there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backends/softnic/engine/engine.h"
#include "backends/softnic/firmware/counter_sets.h"
#include "backends/softnic/firmware/identity.h"
#include "backends/softnic/firmware/umems.h"
#include "backends/softnic/objects/addresses.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/dct.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"

namespace gdakit::softnic {

// Whose command it is: a user's has passed through the kernel as it came.
enum class Sender : std::uint8_t { user, kernel };

class Firmware {
 public:
  // Engine and `addresses` outlive it. Without `addresses` no queue pair finds its peer.
  Firmware(Engine& engine, AddressResolver* addresses, FirmwareIdentity identity = {})
      : engine_(engine), addresses_(addresses), identity_(std::move(identity)) {}

  // Carries out the command, and writes the answer: all zeroes, but for status, syndrome and what
  // the command tells, which is nothing where it fails. What lies behind a command's mailbox is not
  // looked at. An answer of fewer bytes than the mailbox has, 8 at least, has the status
  // bad_outp_len. What a command removes is still used until Engine::removed() says otherwise.
  CommandStatus execute(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
                        Sender sender = Sender::user);

  UmemNumber add_umem(const Umem& umem) { return umems_.add(umem); }
  // Refused: an object lies in it, or what is left of one (Engine::removed).
  Outcome<> remove_umem(UmemNumber umem, Uid uid);

  // The engine's call has moved a CQ, of which queries tell from now on.
  void cq_has_moved(CqNumber cq, const CqResize& to);

 private:
  struct In : std::span<const std::uint8_t> {
    Sender sender = Sender::user;
  };
  using Out = std::span<std::uint8_t>;
  struct Command;

  static std::span<const Command> commands();
  // Each writes to zeroes, and only where it succeeds.
  Status run(In in, Out out);

  // Destroyed by the engine just now: its umems are in use until that is over.
  template <class Objects>
  void forget(Objects& objects, std::uint32_t number) {
    const auto object = objects.find(number);
    if (object == objects.end()) return;
    leaving_.push_back({engine_.last_removal(), std::move(object->second.umems)});
    objects.erase(object);
  }

  // Of umems that nothing uses any more.
  void let_go();

  static Uid uid_of(In in);
  // Memory as a command names it: by a umem, or else by an address, which only the kernel may. Adds
  // the umem, if it is one, to `uses`.
  Outcome<DmaAddress> find_memory(bool is_umem, const UmemPart& part, In in, UmemUses& uses) const;
  // An object that a command has made.
  template <class Context>
  struct Made {
    format::prm::Mailbox<Context> context;  // as it was given; queries tell it
    UmemUses umems;
  };

  // firmware.cc
  Status alloc_pd(In in, Out out);
  Status dealloc_pd(In in, Out out);

  // firmware_cq.cc
  Status create_cq(In in, Out out);
  Status query_cq(In in, Out out);
  Status modify_cq(In in, Out out);
  Status destroy_cq(In in, Out out);

  // firmware_mkey.cc
  Outcome<> find_mkey_memory(In in, MkeyAttributes& attributes, UmemUses& uses) const;
  Status create_mkey(In in, Out out);
  Status query_mkey(In in, Out out);
  Status destroy_mkey(In in, Out out);
  // firmware_dct.cc
  Status create_dct(In in, Out out);
  Status query_dct(In in, Out out);
  Status drain_dct(In in, Out out);
  Status arm_dct(In in, Out out);
  Status destroy_dct(In in, Out out);

  // firmware_qp.cc
  Status find_queues(In in, QpAttributes& attributes, UmemUses& uses) const;
  Status create_qp(In in, Out out);
  Status modify_qp(In in, Out out);
  Status end_connection(QpNumber qpn, const QpModify& modify, Uid uid);
  Status query_qp(In in, Out out);
  Status destroy_qp(In in, Out out);

  // firmware_counters.cc
  Status alloc_q_counter(In in, Out out);
  Status dealloc_q_counter(In in, Out out);
  Status query_q_counter(In in, Out out);
  // A queue pair that is there counts in this set from now on, which is there, too, or in none (0).
  void join_counter_set(CounterSet set, QpNumber qpn, Uid uid);

  // firmware_query.cc
  Status query_hca_cap(In in, Out out);
  Status query_issi(In in, Out out);
  Status query_roce_address(In in, Out out);
  Status tell_nothing(In in, Out out);

  // firmware_vport.cc
  Status query_adapter(In in, Out out);
  Status query_vport_state(In in, Out out);
  Status query_nic_vport_context(In in, Out out);
  Status query_hca_vport_context(In in, Out out);

  // firmware_rmp.cc
  Status create_rmp(In in, Out out);
  Status modify_rmp(In in, Out out);
  Status query_rmp(In in, Out out);
  Status destroy_rmp(In in, Out out);

  // firmware_srq.cc
  Status alloc_xrcd(In in, Out out);
  Status dealloc_xrcd(In in, Out out);
  // Armed for the limit, unless that is 0.
  Outcome<SrqNumber> make_srq(const SrqAttributes& attributes, std::uint32_t limit, Uid uid);
  std::map<SrqNumber, Made<format::prm::XrcSrqc>>& srqs_of(bool is_xrc);
  Status create_srq(In in, Out out);
  Status query_srq(In in, Out out);
  Status arm_srq(In in, Out out);
  Status destroy_srq(In in, Out out);

  Engine& engine_;
  AddressResolver* const addresses_;
  const FirmwareIdentity identity_;
  Umems umems_;
  CounterSets counter_sets_;
  std::map<CqNumber, Made<format::prm::Cqc>> cqs_;
  std::map<std::uint32_t, Made<format::prm::Mkc>> mkeys_;  // by index
  std::map<QpNumber, Made<format::prm::Qpc>> qps_;
  // A number is of one of these three kinds, whose commands find no other.
  std::map<SrqNumber, Made<format::prm::Rmpc>> rmps_;
  std::map<SrqNumber, Made<format::prm::XrcSrqc>> srqs_;
  std::map<SrqNumber, Made<format::prm::XrcSrqc>> xrc_srqs_;
  std::map<DctNumber, format::prm::Mailbox<format::prm::Dctc>> dcts_;  // which name no memory
  struct Leaving {
    RemovalNumber removal = 0;
    UmemUses umems;
  };
  std::vector<Leaving> leaving_;
};

}  // namespace gdakit::softnic
