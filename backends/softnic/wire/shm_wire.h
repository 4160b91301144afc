// The wire between NICs of several processes of one host: a ring of packets per directed pair, in
// memory that all of them map. Payload travels by value, through that memory, or by reference where
// the peers have mapped the sender's heap (peer_memory.h).
//
//   auto segment = ShmSegment::create({.endpoints = 4});     // one process
//   auto same = ShmSegment::open(path_of_the_creator);       // the others: "/proc/<pid>/fd/<fd>"
//   std::unique_ptr<ShmWire> wire = *(*segment)->attach(rank);
//
//   | header | claims, | words of each ring | slots of each ring | rooms of each ring |
//            | callers | indices, recall    | headers, small     | longer payload
//                        words, void bits     payload, fragments   by value
//
// Each kind lies apart from the others, so that rings which carry no long payload by value touch
// no memory for it.
//
// An endpoint's callers are a bit for each peer that has ever sent to it. A receiver looks at the
// rings of those alone, however many endpoints there are, and at one of the others by turns, when
// it finds nothing and after so many packets: a peer which takes bits back delays packets for a
// while.
//
// The memory is a memfd: it has no name in any file system, belongs to the user alone and is gone
// with the last process that maps it, however that ends. A peer that writes nonsense into a ring
// breaks that ring, and nothing else: what it sends and is sent is lost from then on, which the
// transport reports as for any peer that is gone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/softnic/wire/peer_memory.h"
#include "backends/softnic/wire/plain_wire.h"
#include "backends/softnic/wire/ring_recall.h"
#include "backends/softnic/wire/spsc_ring.h"
#include "core/base/file_descriptor.h"
#include "core/base/kept_file.h"
#include "core/base/process_status.h"
#include "core/base/result.h"

namespace gdakit::softnic {

class ShmWire;

struct ShmOptions {
  std::uint32_t endpoints = 2;  // at most ShmSegment::kMaxEndpoints
  std::uint32_t slots = 256;    // packets per directed pair; a power of two, at most 65536
  std::uint32_t rooms = 256;    // those of them at a time whose payload by value is not small
  std::uint32_t mtu = 4096;     // the longest payload; a multiple of 64, at most 2^30
  // The longest payload by value: a multiple of 64 from 256 to 65536, where the mtu is not shorter.
  std::uint32_t value_mtu = 4096;

  // For so many endpoints: slots and rooms become fewer as rings become more, so that a segment
  // grows with the endpoints and not with their square, 3 MB for each.
  static ShmOptions for_endpoints(std::uint32_t endpoints);
};

// Where things lie in a segment of these options.
class ShmLayout {
 public:
  explicit ShmLayout(const ShmOptions& options) : options_(options) {}

  const ShmOptions& options() const { return options_; }
  std::uint32_t value_mtu() const { return std::min(options_.mtu, options_.value_mtu); }
  std::uint32_t rooms() const { return std::min(options_.rooms, options_.slots); }
  std::size_t claim(Endpoint endpoint) const;
  std::size_t callers(Endpoint endpoint) const;
  std::size_t words(Endpoint from, Endpoint to) const;
  std::size_t void_bits(Endpoint from, Endpoint to) const;
  std::size_t slot(Endpoint from, Endpoint to, std::uint32_t index) const;
  std::size_t room(Endpoint from, Endpoint to, std::uint32_t index) const;
  std::size_t total() const;

 private:
  std::size_t bytes_of_words() const;
  std::size_t rings() const { return std::size_t{options_.endpoints} * options_.endpoints; }
  std::size_t number(Endpoint from, Endpoint to) const {
    return std::size_t{to} * options_.endpoints + from;
  }

  ShmOptions options_;
};

class ShmSegment : public std::enable_shared_from_this<ShmSegment> {
 public:
  static constexpr std::uint32_t kMaxEndpoints = 512;
  // Of the numbers by which endpoints are called: those of the PEs of a job on many hosts.
  static constexpr std::uint32_t kMaxNumbers = 1024;

  static Result<std::shared_ptr<ShmSegment>> create(const ShmOptions& options);
  // Fails unless the file is a sealed segment of this version whose size is what its header says.
  static Result<std::shared_ptr<ShmSegment>> open(const std::string& path);
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;
  ~ShmSegment();

  // How other processes of this user open the segment, as long as this process lives.
  std::string path() const;

  int file() const { return fd_.get(); }

  // This process's wire for `place`, one of the segment's endpoints. Fails while a living process
  // has it, and has not become another program. Without `memory` all payload travels by value.
  // `numbers` says by which numbers the wire calls the endpoints, by place, where they are a part
  // of those of a job; all wires of a segment have the same. Without, they are called by their
  // places. Numbers are below kMaxNumbers.
  Result<std::unique_ptr<ShmWire>> attach(Endpoint place,
                                          std::shared_ptr<const PeerMemory> memory = nullptr,
                                          std::vector<Endpoint> numbers = {});

  // Whether a process has the endpoint that still runs, and the program that has taken it.
  bool is_held(Endpoint place) const;
  // This process's wire for `place` ends.
  void release(Endpoint place) const;

  const ShmLayout& layout() const { return layout_; }
  std::byte* at(std::size_t offset) const { return memory_ + offset; }

 private:
  ShmSegment(KeptFile fd, const ShmLayout& layout, std::byte* memory);
  static Result<std::shared_ptr<ShmSegment>> map(UniqueFileDescriptor fd, const ShmLayout& layout);
  bool lock(Endpoint place) const;
  bool is_locked(Endpoint place) const;
  bool take(Endpoint place) const;

  KeptFile fd_;
  ShmLayout layout_;
  std::byte* memory_;
};

class ShmWire final : public PlainWire {
 public:
  // `numbers`: of all endpoints of the segment, by place.
  ShmWire(std::shared_ptr<ShmSegment> segment, Endpoint place,
          std::shared_ptr<const PeerMemory> memory, std::vector<Endpoint> numbers);
  // Takes back what it sent by reference: peers that live are through with it, or a second has
  // passed.
  ~ShmWire() override;

  Endpoint endpoint() const override { return numbers_[place_]; }
  std::uint32_t mtu() const override { return segment_->layout().options().mtu; }
  std::uint32_t value_mtu() const override { return segment_->layout().value_mtu(); }
  WirePath path(Endpoint) const override { return {.mtu = mtu(), .loses_packets = false}; }
  bool by_reference(const Packet& packet) const override;
  bool send(const Packet& packet) override;
  const Packet* receive() override;
  void retire(const Packet* packet) override;
  void flush() override;
  Recall recall(const RecallScope& scope) override;
  bool recalled(Recall& recall) override;
  bool unread(Endpoint endpoint) const override;

  // `peer` has broken the ring to or from it.
  bool broken(Endpoint peer) const;

 private:
  struct Outbound {
    RingWriter writer;
    RecallSender recall;
    // The index from which on the ring's head says that the room is free again, by room.
    std::vector<std::uint64_t> free_from;
    std::uint32_t next_room = 0;
    bool unpublished = false;
    bool has_called = false;
    RunningProcess process;  // of the reader
  };
  struct Inbound {
    RingReader reader;
    RecallReader recall;
    bool calls = false;           // the peer is one of callers_
    std::vector<Packet> packets;  // private copies: what the peer writes later changes nothing
  };

  // Of an endpoint that the segment does not have: the number of all places.
  Endpoint place_of(Endpoint number) const {
    return number < places_.size() ? places_[number] : endpoints_;
  }
  // Peers are named by their places here.
  void write_fragments(const Packet& packet, std::byte* to) const;
  bool read_fragments(Endpoint peer, const std::byte* from, Packet& packet) const;
  bool read_slot(Endpoint peer, std::uint32_t index, Packet& packet) const;
  void hear(Endpoint peer);
  void hear_callers();
  void hear_quiet();
  const Packet* receive_from(Endpoint peer);
  bool still_read(const Recall::Wait& wait);
  bool is_broken(Endpoint peer) const;
  void publish(Endpoint peer);

  std::shared_ptr<ShmSegment> segment_;
  std::shared_ptr<const PeerMemory> memory_;
  const Endpoint place_;
  const std::uint32_t endpoints_;
  const std::vector<Endpoint> numbers_;  // by place
  const std::vector<Endpoint> places_;   // by number
  // By place.
  std::vector<Outbound> outbound_;
  std::vector<Inbound> inbound_;
  // Whose rings are looked at: the place in the list of who is next, and the next of all peers.
  std::vector<Endpoint> callers_;
  std::size_t turn_ = 0;
  Endpoint quiet_turn_ = 0;
  std::uint32_t packets_ = 0;                          // received, about
  const std::atomic<std::uint64_t>* const call_bits_;  // by 64 places
  std::vector<std::uint64_t> heard_;                   // those of callers_
  // What the next flush() goes through: peers with packets that are not published, and those whose
  // packets this side may be using.
  std::vector<Endpoint> sent_to_;
  std::vector<Endpoint> entered_;
};

}  // namespace gdakit::softnic
