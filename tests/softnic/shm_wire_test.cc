#include "backends/softnic/wire/shm_wire.h"

#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_slot.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/every_operation.h"

namespace gdakit::softnic {
namespace {

using test::EngineRig;
using test::RigOptions;
using test::Side;

Packet packet_to(Endpoint to, std::uint32_t psn, const std::vector<std::uint8_t>& payload) {
  Packet packet;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.destination = to;
  packet.header.psn = psn;
  packet.header.payload_size = static_cast<std::uint32_t>(payload.size());
  packet.payload = payload.data();
  return packet;
}

std::shared_ptr<ShmSegment> make_segment(const ShmOptions& options = {}) {
  return std::move(*ShmSegment::create(options));
}

TEST(ShmSegment, RefusesOptionsThatNoLayoutHas) {
  EXPECT_FALSE(ShmSegment::create({.endpoints = 0}));
  EXPECT_FALSE(ShmSegment::create({.endpoints = 513}));
  EXPECT_FALSE(ShmSegment::create({.rooms = 0}));
  EXPECT_FALSE(ShmSegment::create({.slots = 3}));
  EXPECT_FALSE(ShmSegment::create({.mtu = 100}));
  EXPECT_FALSE(ShmSegment::create({.mtu = (1u << 30) + 64}));
  EXPECT_FALSE(ShmSegment::create({.value_mtu = 128}));
  EXPECT_FALSE(ShmSegment::create({.mtu = 1 << 20, .value_mtu = 1 << 20}));
}

TEST(ShmSegment, IsOpenedByItsPathAndByNothingElse) {
  const auto segment = make_segment();
  EXPECT_TRUE(ShmSegment::open(segment->path()));
  EXPECT_FALSE(ShmSegment::open("/proc/self/fd/99999"));
  EXPECT_FALSE(ShmSegment::open("/dev/zero"));
  std::string name = std::filesystem::temp_directory_path() / "gdakit-shm-XXXXXX";
  const int fd = ::mkstemp(name.data());
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(ShmSegment::open(name));
  ::unlink(name.c_str());
  ::close(fd);
}

TEST(ShmSegment, RefusesForeignMemfds) {
  const auto segment = make_segment();
  const std::size_t size = segment->layout().total();
  const auto opens = [&](std::size_t offset, std::uint8_t flip, bool seal, std::size_t length) {
    const int fd = ::memfd_create("test", MFD_ALLOW_SEALING);
    EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(length)), 0);
    std::vector<std::uint8_t> header(64);
    std::memcpy(header.data(), segment->at(0), header.size());
    header[offset] = static_cast<std::uint8_t>(header[offset] ^ flip);
    EXPECT_EQ(::pwrite(fd, header.data(), header.size(), 0), 64);
    if (seal) {
      EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    }
    const bool opened = static_cast<bool>(ShmSegment::open("/proc/self/fd/" + std::to_string(fd)));
    ::close(fd);
    return opened;
  };
  EXPECT_TRUE(opens(0, 0, true, size));
  EXPECT_FALSE(opens(0, 0, false, size));      // could shrink under our feet
  EXPECT_FALSE(opens(0, 0, true, size + 64));  // another size
  EXPECT_FALSE(opens(0, 0, true, 4096));
  for (std::size_t offset = 0; offset < 48; ++offset) {
    EXPECT_FALSE(opens(offset, 0x40, true, size)) << "byte " << offset << " of the header";
  }
}

TEST(ShmSegment, IsTheUsersAloneAndHasNoName) {
  const auto segment = make_segment();
  struct stat status {};
  ASSERT_EQ(::stat(segment->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(status.st_nlink, 0u);
}

TEST(ShmSegment, GivesEachEndpointOnce) {
  const auto segment = make_segment();
  auto wire = segment->attach(1);
  ASSERT_TRUE(wire);
  EXPECT_FALSE(segment->attach(1));
  EXPECT_FALSE(segment->attach(2));
  wire->reset();
  EXPECT_TRUE(segment->attach(1));
}

TEST(ShmWire, CarriesHeadersAndPayloadByValue) {
  const auto segment = make_segment({.endpoints = 3, .slots = 4, .mtu = 1024});
  auto a = std::move(*segment->attach(0)), b = std::move(*segment->attach(2));
  EXPECT_FALSE(a->by_reference(Packet{}));
  std::vector<std::uint8_t> payload(1024);
  test::fill(payload.data(), payload.size(), 3);
  Packet packet = packet_to(2, 77, payload);
  packet.header.opcode = PacketOpcode::atomic_request;
  packet.header.service_level = 7;
  packet.header.traffic_class = 8;
  packet.header.service = ServiceType::uc;
  packet.header.pkey = 0x8009;
  packet.header.destination_qpn = 1;
  packet.header.imm = 3;
  packet.header.reth = {5, 4, 6};
  packet.header.solicited = true;
  packet.header.ack_request = true;
  packet.atomic = {AtomicKind::compare_swap, 4, 9, 10, 11, 12, 13};
  ASSERT_TRUE(a->send(packet));
  std::fill(payload.begin(), payload.end(), std::uint8_t{0});
  a->flush();
  const Packet* got = b->receive();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->header.source, 0u);
  EXPECT_EQ(got->header.psn, 77u);
  EXPECT_EQ(got->header.destination_qpn, 1u);
  EXPECT_EQ(got->header.service_level, 7);
  EXPECT_EQ(got->header.traffic_class, 8);
  EXPECT_EQ(got->header.service, ServiceType::uc);
  EXPECT_EQ(got->header.pkey, 0x8009);
  EXPECT_EQ(got->header.imm, 3u);
  EXPECT_EQ(got->header.reth.rkey, 4u);
  EXPECT_EQ(got->header.reth.address, 5u);
  EXPECT_EQ(got->header.reth.length, 6u);
  EXPECT_TRUE(got->header.solicited);
  EXPECT_TRUE(got->header.ack_request);
  EXPECT_EQ(got->atomic.kind, AtomicKind::compare_swap);
  EXPECT_EQ(got->atomic.size, 4);
  EXPECT_EQ(got->atomic.boundary, 13u);
  std::vector<std::uint8_t> expected(1024);
  test::fill(expected.data(), expected.size(), 3);
  EXPECT_EQ(std::memcmp(got->payload, expected.data(), 1024), 0);
  b->retire(got);
  b->flush();
}

TEST(ShmWire, RefusesWhenFullAndLosesWhatIsForNobody) {
  const auto segment = make_segment({.slots = 2});
  auto a = std::move(*segment->attach(0)), b = std::move(*segment->attach(1));
  const std::vector<std::uint8_t> payload(8);
  EXPECT_TRUE(a->send(packet_to(9, 0, payload)));
  EXPECT_TRUE(a->send(packet_to(1, 0, payload)));
  EXPECT_TRUE(a->send(packet_to(1, 1, payload)));
  EXPECT_FALSE(a->send(packet_to(1, 2, payload)));
  a->flush();
  b->retire(b->receive());
  b->flush();
  EXPECT_TRUE(a->send(packet_to(1, 2, payload)));
}

TEST(ShmWire, AFewRoomsHoldTheLongPayloadsThatAreNotReadYet) {
  const auto segment = make_segment({.slots = 8, .rooms = 2});
  auto a = std::move(*segment->attach(0)), b = std::move(*segment->attach(1));
  const std::vector<std::uint8_t> small(kSmallPayload);
  std::vector<std::uint8_t> payload(1000);
  std::uint32_t sent = 0;
  for (std::uint32_t received = 0; received < 9; ++received) {
    // Two rooms, and small payloads beside them.
    for (; sent < received + 2; ++sent) {
      test::fill(payload.data(), payload.size(), sent);
      ASSERT_TRUE(a->send(packet_to(1, sent, payload)));
    }
    EXPECT_FALSE(a->send(packet_to(1, sent, payload)));
    ASSERT_TRUE(a->send(packet_to(1, 99, small)));
    a->flush();
    const Packet* packet = b->receive();
    while (packet != nullptr && packet->header.psn == 99) {
      b->retire(packet);
      packet = b->receive();
    }
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.psn, received);
    test::fill(payload.data(), payload.size(), received);
    EXPECT_EQ(std::memcmp(packet->payload, payload.data(), payload.size()), 0);
    b->retire(packet);
    b->flush();
  }
}

TEST(ShmWire, KnowsWhatAPeerThatLivesHasYetToRead) {
  const auto segment = make_segment();
  auto a = std::move(*segment->attach(0));
  const std::vector<std::uint8_t> payload(8);
  ASSERT_TRUE(a->send(packet_to(1, 0, payload)));
  a->flush();
  EXPECT_FALSE(a->unread(1)) << "nobody is there";
  EXPECT_FALSE(a->unread(1000));
  auto b = std::move(*segment->attach(1));
  EXPECT_FALSE(a->unread(1)) << "what was sent before it came is not for it";
  EXPECT_EQ(b->receive(), nullptr);
  ASSERT_TRUE(a->send(packet_to(1, 0, payload)));
  a->flush();
  EXPECT_TRUE(a->unread(1));
  b->retire(b->receive());
  b->flush();
  EXPECT_FALSE(a->unread(1));
  ASSERT_TRUE(a->send(packet_to(1, 1, payload)));
  EXPECT_TRUE(a->unread(1));
  const std::uint64_t absurd = 100;
  std::memcpy(segment->at(segment->layout().words(0, 1) + 64), &absurd, sizeof absurd);
  EXPECT_FALSE(a->unread(1)) << "a head beyond the tail";
}

TEST(ShmLayout, GrowsWithTheEndpointsAndNotWithTheirSquare) {
  constexpr std::size_t kMillion = 1'000'000;
  EXPECT_LT(ShmLayout(ShmOptions::for_endpoints(64)).total(), 300 * kMillion);
  for (std::uint32_t endpoints = 1; endpoints <= ShmSegment::kMaxEndpoints; ++endpoints) {
    const ShmLayout layout(ShmOptions::for_endpoints(endpoints));
    ASSERT_LE(layout.total(), 4 * kMillion * endpoints) << endpoints << " endpoints";
  }
  EXPECT_TRUE(ShmSegment::create(ShmOptions::for_endpoints(100)));
}

TEST(ShmWire, ABrokenPeerBreaksItsRingAndNothingElse) {
  const std::vector<std::uint8_t> payload(8);
  const ShmOptions options{.endpoints = 3, .slots = 8, .mtu = 256};
  const ShmLayout layout(options);
  const std::size_t tail = layout.words(1, 0), head = layout.words(0, 1) + 64;
  const std::size_t slot = layout.slot(1, 0, 0);
  struct Damage {
    const char* what;
    std::size_t offset;
    std::uint64_t value;
  };
  for (const Damage& damage :
       {Damage{"tail too far", tail, 9}, Damage{"tail absurd", tail, ~0ull},
        Damage{"service type", slot + offsetof(SlotHeader, service), 0xff},
        Damage{"opcode", slot + offsetof(SlotHeader, opcode), 0xff},
        Damage{"acknowledge", slot + offsetof(SlotHeader, acknowledge), 7},
        Damage{"psn", slot + offsetof(SlotHeader, psn), 0xffffffff},
        Damage{"payload size", slot + offsetof(SlotHeader, payload_size), 257},
        Damage{"room", slot + offsetof(SlotHeader, room), 8}}) {
    const auto segment = make_segment(options);
    auto a = std::move(*segment->attach(0)), b = std::move(*segment->attach(1)),
         c = std::move(*segment->attach(2));
    ASSERT_TRUE(b->send(packet_to(0, 1, payload)));
    b->flush();
    ASSERT_TRUE(c->send(packet_to(0, 2, payload)));
    c->flush();
    std::memcpy(segment->at(damage.offset), &damage.value, sizeof damage.value);
    const Packet* packet = a->receive();
    ASSERT_NE(packet, nullptr) << damage.what;
    EXPECT_EQ(packet->header.psn, 2u) << damage.what;
    a->retire(packet);
    EXPECT_EQ(a->receive(), nullptr) << damage.what;
    EXPECT_TRUE(a->broken(1)) << damage.what;
    EXPECT_FALSE(a->broken(2)) << damage.what;
  }
  const auto segment = make_segment(options);
  auto a = std::move(*segment->attach(0));
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(a->send(packet_to(1, i, payload)));
  const std::uint64_t absurd = 100;
  std::memcpy(segment->at(head), &absurd, sizeof absurd);
  EXPECT_TRUE(a->send(packet_to(1, 9, payload)));  // lost, not stuck
  EXPECT_TRUE(a->broken(1));
}

TEST(ShmWire, RandomRubbishNeverLeadsOutOfTheSegment) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto segment = make_segment({.endpoints = 2, .slots = 4, .mtu = 256});
    auto a = std::move(*segment->attach(0));
    const ShmLayout& layout = segment->layout();
    const auto fill = [&](std::size_t at, std::size_t end) {
      while (at < end) {
        *segment->at(at++) = static_cast<std::byte>(random() % (round % 3 == 0 ? 4 : 256));
      }
    };
    fill(layout.slot(1, 0, 0), layout.slot(1, 0, 4));
    const std::uint64_t tail = 4;
    if (round % 2 == 0) {
      std::memcpy(segment->at(layout.words(1, 0)), &tail, sizeof tail);
    } else {
      fill(layout.words(1, 0), layout.words(1, 0) + 128);
    }
    unsigned sum = 0;
    while (const Packet* packet = a->receive()) {
      ASSERT_LE(packet->header.payload_size, 256u);
      for (std::uint32_t i = 0; i < packet->header.payload_size; ++i) sum += packet->payload[i];
      a->retire(packet);
      a->flush();
    }
    EXPECT_GE(sum, 0u);
  }
}

// Two engines on one shared segment in this process.
RigOptions over_shm(const std::shared_ptr<ShmSegment>& segment) {
  RigOptions options;
  options.wrap_wire = [segment](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
    return std::move(*segment->attach(static_cast<Endpoint>(side)));
  };
  return options;
}

TEST(ShmEngine, PerformsEveryOperationByValue) {
  EngineRig rig(over_shm(make_segment({.slots = 8, .mtu = 256})));
  test::run_every_operation(rig, 10'000);
}

TEST(ShmEngine, PerformsEveryOperationWithOneRoom) {
  EngineRig rig(over_shm(make_segment({.slots = 8, .rooms = 1, .mtu = 256})));
  test::run_every_operation(rig, 10'000);
}

TEST(ShmEngine, ABrokenRingEndsInRetryExceeded) {
  const auto segment = make_segment({.slots = 8, .mtu = 256});
  RigOptions options = over_shm(segment);
  options.settings.ack_timeout = 5;
  EngineRig rig(options);
  const std::uint64_t rubbish = ~0ull;
  std::memcpy(segment->at(segment->layout().words(1, 0)), &rubbish, sizeof rubbish);
  rig.a.post(test::write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  EXPECT_EQ(rig.a.info().first_error.syndrome, format::Syndrome::transport_retry_exceeded);
}

// What both processes of the next test know without talking: all numbers are the same in both.
void connect_by_value(Side& side, Endpoint peer, QpNumber peer_qpn) {
  QpModify modify;
  modify.access = Access::all;
  modify.path.endpoint = peer;
  modify.remote_qpn = peer_qpn;
  for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
    modify.state = state;
    ASSERT_TRUE(side.engine.modify_qp(side.qpn, modify));
  }
}

TEST(ShmEngine, ProcessesThatForkedTalkToEachOther) {
  const auto segment = make_segment({.endpoints = 2, .slots = 16, .mtu = 1024});
  // The heap's addresses and keys are agreed on through shared memory.
  struct Shared {
    std::uint64_t heap[2];
    MemoryKey key[2];
    std::atomic<int> ready[2];
    std::atomic<int> finished;
  };
  auto* shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const auto play = [&](int self) {
    const int peer = 1 - self;
    Side side({}, std::make_unique<HostDma>(),
              std::move(*segment->attach(static_cast<Endpoint>(self))));
    connect_by_value(side, static_cast<Endpoint>(peer), side.qpn);
    shared->heap[self] = side.heap_address(0);
    shared->key[self] = side.key;
    test::fill(side.heap.data(), 20'000, 100 + static_cast<std::uint32_t>(self));
    shared->ready[self] = 1;
    while (shared->ready[peer] == 0) ::usleep(100);
    test::Wqe wqe{.opcode = format::Opcode::rdma_write};
    wqe.body = {format::to_segment(
                    format::remote_address(shared->heap[peer] + 50'000, Be32{shared->key[peer]})),
                side.data(0, 20'000)};
    side.post(wqe);
    test::Wqe add{.opcode = format::Opcode::atomic_fa};
    add.body = {format::to_segment(
                    format::remote_address(shared->heap[peer] + 40'000, Be32{shared->key[peer]})),
                format::to_segment(format::AtomicSegment{Be64{3}, Be64{0}}), side.data(48'000, 8)};
    side.post(add);
    side.ring();
    std::uint64_t now = 0;
    bool told = false;
    for (int i = 0; i < 20'000'000 && shared->finished != 2; ++i) {
      side.engine.step(now += 50);
      if (told || side.info().send_completed != 2) continue;
      if (side.word<std::uint64_t>(40'000) != 3) continue;
      told = true;
      ++shared->finished;
    }
    std::vector<std::uint8_t> expected(20'000);
    test::fill(expected.data(), expected.size(), 100 + static_cast<std::uint32_t>(peer));
    return side.info().state == QpState::rts && shared->finished == 2 &&
           std::memcmp(side.heap.data() + 50'000, expected.data(), expected.size()) == 0;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(play(1) ? 0 : 1);
  EXPECT_TRUE(play(0));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::munmap(shared, sizeof(Shared));
}

// What a peer that runs as a process of its own, as endpoint 1, tells.
struct Told {
  std::uint64_t heap;
  MemoryKey key;
  std::atomic<int> ready;
};

pid_t start_peer(const std::shared_ptr<ShmSegment>& segment, Told* told) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  Side side({}, std::make_unique<HostDma>(), std::move(*segment->attach(1)));
  connect_by_value(side, 0, side.qpn);
  told->heap = side.heap_address(0);
  told->key = side.key;
  told->ready = 1;
  for (std::uint64_t now = 0;; ::usleep(50)) side.engine.step(now += 50);
}

// The time-out is a second; this side's clock goes on by hours while the peer stands still.
TEST(ShmEngine, AStoppedPeerIsWaitedForAndADeadOneIsNot) {
  const auto segment = make_segment();
  auto* const told = static_cast<Told*>(
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(told, MAP_FAILED);
  const pid_t peer = start_peer(segment, told);
  while (told->ready == 0) ::usleep(100);
  Side side({}, std::make_unique<HostDma>(), std::move(*segment->attach(0)));
  connect_by_value(side, 1, side.qpn);
  std::uint64_t now = 0;
  const auto put = [&] {
    test::Wqe wqe{.opcode = format::Opcode::rdma_write};
    wqe.body = {format::to_segment(format::remote_address(told->heap, Be32{told->key})),
                side.data(0, 64)};
    side.post(wqe);
    side.ring();
    for (int i = 0; i < 10'000; ++i) side.engine.step(now += 1'000'000'000);
  };
  int status = 0;
  ASSERT_EQ(::kill(peer, SIGSTOP), 0);
  ASSERT_EQ(::waitpid(peer, &status, WUNTRACED), peer);
  put();
  EXPECT_EQ(side.info().state, QpState::rts);
  EXPECT_EQ(side.info().send_completed, 0u);
  ASSERT_EQ(::kill(peer, SIGCONT), 0);
  while (side.info().state == QpState::rts && side.info().send_completed != 1) {
    side.engine.step(now += 50);
  }
  EXPECT_EQ(side.info().send_completed, 1u);
  ASSERT_EQ(::kill(peer, SIGKILL), 0);
  ASSERT_EQ(::waitpid(peer, &status, 0), peer);
  put();
  EXPECT_EQ(side.info().first_error.syndrome, format::Syndrome::transport_retry_exceeded);
  ::munmap(told, sizeof(Told));
}

}  // namespace
}  // namespace gdakit::softnic
