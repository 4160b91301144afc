#include <algorithm>
#include <array>
#include <memory>
#include <netinet/udp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <utility>

#include "backends/softnic/wire/roce_packet.h"
#include "backends/softnic/wire/udp_wire.h"
#include "tests/fuzz/packets.h"
#include "tests/roce/packets.h"
#include "tests/softnic/fuzz_input.h"
#include "tests/softnic/fuzz_side.h"

namespace gdakit::fuzz {
namespace {

using namespace softnic;
using softnic::test::FuzzSide;
using softnic::test::kRegion;
using softnic::test::kRegions;

constexpr std::uint32_t kMtu = 1024;
constexpr Endpoint kPeer = 1;
constexpr QpNumber kPeersQpn = 0x123;
constexpr std::uint32_t kPeersPsn = 0xfffffe;
constexpr int kMostActions = 200;

UdpSocket socket_here() {
  Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"));
  if (!socket) throw std::runtime_error(socket.error().message());
  return std::move(*socket);
}

std::unique_ptr<UdpWire> wire_here() {
  return std::move(*UdpWire::create(socket_here(), {.endpoint = 0, .mtu = kMtu}));
}

// As jobs over UDP have them.
EngineOptions options_of_udp() {
  EngineOptions options;
  options.adaptive_retransmission = options.selective_repeat = true;
  options.congestion_control = true;
  return options;
}

// A NIC whose peer is this program.
class Run {
 public:
  explicit Run(Input input)
      : input_(input.data(), input.size()),
        side_(wire_here(), 0xfffff0, options_of_udp(), softnic::test::FuzzKind::rc, std::nullopt),
        wire_(udp_wire()) {
    // It is read datagram by datagram.
    const int joins = 0;
    ::setsockopt(peer_.get(), IPPROTO_UDP, UDP_GRO, &joins, sizeof joins);
    if (!wire_.connect(kPeer, peer_.address())) throw std::runtime_error("no way to itself");
    side_.connect(kPeer, kPeersQpn, kPeersPsn);
  }

  std::string play();

 private:
  UdpWire& udp_wire() { return static_cast<UdpWire&>(*side_.wire); }
  std::uint64_t some_address() {
    const std::uint32_t region = input_.below(kRegions);
    const bool wild = input_.take<std::uint8_t>() % 8 == 0;
    return side_.iova(region) + (wild ? input_.take<std::uint64_t>() : input_.below(kRegion + 16));
  }
  MemoryKey some_key() {
    const MemoryKey key = side_.keys[input_.below(kRegions)];
    return input_.take<std::uint8_t>() % 16 == 0 ? key ^ input_.take<std::uint32_t>() : key;
  }
  roce::RocePacket some_packet();
  void send_packet();
  void post_receive();
  void post();
  void send(const UdpSocket& from, Input bytes);
  std::string look_at_answers();
  std::string steps(std::uint32_t count);
  std::string come_to_rest();

  softnic::test::Input input_;
  UdpSocket peer_ = socket_here();
  UdpSocket stranger_ = socket_here();
  FuzzSide side_;
  UdpWire& wire_;
  std::uint64_t now_ns_ = 1000;
};

void Run::send(const UdpSocket& from, Input bytes) {
  const SocketAddress there(wire_.address());
  static_cast<void>(
      ::sendto(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT, &there.any, there.size()));
}

// Mostly one that the queue pair expects.
roce::RocePacket Run::some_packet() {
  static const std::vector<std::uint8_t> kAll = roce::test::opcodes();
  static const std::vector<std::uint8_t> kPayload(kMtu + 8, 0x5a);
  const bool of_rc = input_.take<std::uint8_t>() % 8 != 0;
  const auto opcode = static_cast<std::uint8_t>(input_.below(0x15));
  roce::RocePacket packet;
  packet.opcode = of_rc ? opcode : kAll[input_.below(static_cast<std::uint32_t>(kAll.size()))];
  const QpInfo info = *side_.engine.query_qp(side_.qpn);
  const auto operation = roce::operation_of(packet.opcode);
  const bool answers = operation >= roce::Operation::read_response_first &&
                       operation <= roce::Operation::atomic_acknowledge;
  const std::uint32_t near = answers ? info.last_acked_psn : info.next_receive_psn;
  const bool wild = input_.take<std::uint8_t>() % 16 == 0;
  packet.psn = wild ? input_.take<std::uint32_t>() & kPsnMask : psn_add(near, input_.below(4));
  packet.destination_qpn =
      input_.below(16) == 0 ? input_.take<std::uint32_t>() & 0xffffff : side_.qpn;
  packet.solicited = input_.below(2) == 0;
  packet.ack_request = input_.below(2) == 0;
  packet.pkey = input_.below(16) == 0 ? input_.take<PartitionKey>() : kDefaultPartition;
  packet.reth = {some_address(), some_key(),
                 input_.below(4) == 0 ? input_.take<std::uint32_t>() : input_.below(3 * kMtu)};
  packet.atomic = {some_address(), some_key(), input_.take<std::uint64_t>(),
                   input_.take<std::uint64_t>()};
  packet.masked.size = input_.below(2) == 0 ? 4 : input_.below(10);
  packet.masked.boundary = input_.take<std::uint64_t>();
  packet.aeth = {input_.take<std::uint8_t>(), input_.take<std::uint32_t>() & 0xffffff};
  packet.imm = input_.take<std::uint32_t>();
  const roce::PayloadLimits limits = roce::payload_limits(packet.opcode);
  const std::size_t wanted = input_.below(3) == 0 ? kMtu : input_.below(kMtu + 8);
  packet.payload = std::span(kPayload).first(std::clamp(wanted, limits.least, limits.most));
  return packet;
}

void Run::send_packet() {
  const auto kind = input_.take<std::uint8_t>() % 32;
  const UdpSocket& from = kind == 0 ? stranger_ : peer_;
  const roce::UdpWay way = way_between(from.address(), wire_.address());
  Seed bytes = roce::test::encoded(some_packet(), way);
  if (kind == 1) bytes[input_.below(static_cast<std::uint32_t>(bytes.size()))] ^= 1;
  if (kind == 2) bytes.resize(input_.below(static_cast<std::uint32_t>(bytes.size())));
  send(from, bytes);
}

void Run::post_receive() {
  std::array<format::DataSegment, 4> wqe{};
  wqe.fill(format::data(0, Be32{0x100}, 0));
  const std::uint32_t region = input_.below(kRegions);
  wqe[0] = format::data(side_.iova(region), Be32{side_.keys[region]}, input_.below(2 * kMtu));
  const std::uint64_t slot = side_.receive_producer++ & ((1u << softnic::test::kLogRq) - 1);
  side_.rq.write(slot << softnic::test::kLogRqStride, wqe.data(), sizeof wqe);
  const Be32 word = format::doorbell_record_value(side_.receive_producer);
  side_.record.write(offsetof(format::DoorbellRecord, rcv_dbr), &word, sizeof word);
}

// A WQE that waits for answers.
void Run::post() {
  constexpr std::array kKinds = {format::Opcode::rdma_write, format::Opcode::rdma_read,
                                 format::Opcode::atomic_fa, format::Opcode::send};
  const format::Opcode opcode = kKinds[input_.below(kKinds.size())];
  const bool adds = opcode == format::Opcode::atomic_fa;
  std::vector<format::Segment> segments(1);
  if (opcode != format::Opcode::send) {
    segments.push_back(format::to_segment(format::remote_address(0x1000, Be32{0x77})));
  }
  if (adds) segments.push_back(input_.take<format::Segment>());
  const std::uint32_t region = input_.below(2);
  const std::uint32_t size = adds ? 8 : input_.below(3 * kMtu);
  segments.push_back(
      format::to_segment(format::data(side_.iova(region), Be32{side_.keys[region]}, size)));
  const auto ds = static_cast<std::uint32_t>(segments.size());
  segments[0] = format::to_segment(format::control(opcode, 0, format::wire_index(side_.producer),
                                                   side_.qpn, ds, 8, Be32{0x1234}));
  side_.write_segments(segments);
  side_.producer += format::wqebbs_of(ds);
  const Be32 posted = format::doorbell_record_value(side_.producer);
  side_.record.write(offsetof(format::DoorbellRecord, snd_dbr), &posted, sizeof posted);
  const std::uint64_t doorbell = format::doorbell_value(side_.producer, side_.qpn);
  side_.engine.doorbell(side_.uar, format::kUarDoorbellBegin, doorbell);
}

// What the NIC has sent is whole, numbered or not; the peer of an honest NIC drops nothing.
std::string Run::look_at_answers() {
  std::array<std::uint8_t, kDatagramBytes> bytes;
  const roce::UdpWay way = way_between(wire_.address(), peer_.address());
  roce::IcrcNumbers numbers(kDatagramBytes);
  for (;;) {
    const ssize_t size = ::recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) return {};
    roce::RocePacket packet;
    const Input datagram(bytes.data(), static_cast<std::size_t>(size));
    const roce::Icrc start(way, datagram.size());
    if (roce::decode(datagram, start, packet, &numbers) != roce::Damage::none) {
      return "the NIC sent damage";
    }
    if (packet.payload.size() > kMtu) return "the NIC sent more than its MTU";
    if (packet.destination_qpn != kPeersQpn) return "the NIC sent to a queue pair that it has not";
  }
}

std::string Run::steps(std::uint32_t count) {
  for (; count != 0; --count) {
    side_.engine.step(now_ns_ += 50);
    std::string wrong = side_.check();
    if (wrong.empty()) wrong = look_at_answers();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// Until every timer has run out as often as it may.
std::string Run::come_to_rest() {
  constexpr int kTimers = 300;
  std::string wrong;
  for (int i = 0; i < kTimers && wrong.empty(); ++i) {
    wrong = steps(20);
    const auto timer = side_.engine.next_timer_ns();
    if (timer && *timer > now_ns_) now_ns_ = *timer;
    if (!timer && i > 10) break;
  }
  if (wrong.empty()) wrong = steps(100);
  if (wrong.empty()) wrong = side_.check_memory();
  return wrong.empty() ? side_.check_rest() : wrong;
}

std::string Run::play() {
  std::string wrong;
  for (int actions = 0; actions < kMostActions && !input_.empty() && wrong.empty(); ++actions) {
    switch (input_.take<std::uint8_t>() % 8) {
      case 0: post(); break;
      case 1: post_receive(); break;
      case 2: now_ns_ += input_.take<std::uint16_t>() * std::uint64_t{100}; break;
      case 3: wrong = steps(1 + input_.below(4)); break;
      default: send_packet();
    }
  }
  return wrong.empty() ? come_to_rest() : wrong;
}

}  // namespace

std::string play_udp_engine(Input input) { return Run(input).play(); }

std::vector<Seed> udp_engine_seeds() {
  std::vector<Seed> seeds;
  std::uint32_t word = 1;
  for (std::size_t size : {40, 200, 800, 2000}) {
    Seed seed(size);
    for (std::uint8_t& byte : seed) {
      word = word * 1664525 + 1013904223;
      byte = static_cast<std::uint8_t>(word >> 24);
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace gdakit::fuzz
