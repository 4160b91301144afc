// The facade with its thread: everything a backend does, while GPU-like threads post.
#include "backends/softnic/engine/nic.h"

#include <chrono>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/nic_client.h"

namespace gdakit::softnic::test {
namespace {

struct Two {
  Two() {
    a.connect(b);
    b.connect(a);
  }
  std::shared_ptr<LoopbackFabric> fabric = LoopbackFabric::create();
  Client a{*fabric}, b{*fabric};
};

TEST(Nic, RefusesWhatItCannotRun) {
  EXPECT_FALSE(Nic::open({}, nullptr, nullptr));
  const auto fabric = LoopbackFabric::create();
  NicOptions odd;
  odd.engine.window = 100;
  EXPECT_FALSE(Nic::open(odd, std::make_unique<HostDma>(), std::move(*fabric->attach())));
}

TEST(Nic, SleepsUntilItsFirstQueuePairIsConnected) {
  const auto fabric = LoopbackFabric::create();
  NicOptions options;
  options.thread.sleep_before_start_us = 600'000'000;
  Client a(*fabric, options), b(*fabric, options);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  a.connect(b);
  b.connect(a);
  a.post_write(b.address(0), b.key, a.address(0), 8);
  a.ring();
  EXPECT_TRUE(a.wait());
}

// How often threads of this process have gone to sleep or waited.
long pauses() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

TEST(Nic, SaysWhatItRefusesAndWhatToDo) {
  const auto fabric = LoopbackFabric::create();
  Client client(*fabric);
  const auto expect = [](const Result<>& result, Code code, const char* sentence) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code);
    EXPECT_EQ(result.error().message(), sentence);
  };
  Nic& nic = *client.nic;
  expect(nic.dealloc_pd(client.pd), Code::invalid_argument,
         "dealloc_pd: protection domain 1 is still used by memory keys, queue pairs or shared "
         "receive queues; destroy those first");
  expect(nic.dereg_mr(77), Code::not_found,
         "dereg_mr: no memory key 77; it was never registered or is gone already");
  expect(nic.destroy_cq(77), Code::not_found,
         "destroy_cq: there is no completion queue 77; it was never created or is gone");
  expect(nic.modify_qp(client.qpn, {.state = QpState::rts}), Code::invalid_argument,
         "modify_qp: queue pair 2 cannot go from reset to rts; the way is reset, init, rtr, rts, "
         "and from rts to sqd and back");
  EXPECT_EQ(nic.query_qp(client.qpn)->state, QpState::reset);
}

// Of two NICs that sleep 0.3 ms each time, after so long without work. On a busy machine a NIC may
// come late to its first sleeps: it has more time then.
TEST(Nic, WakesMoreSeldomTheLongerItIsIdle) {
  Two two;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  long woken = 0;
  long most = -1;
  for (int tenths = 0; tenths < 100 && woken > most; ++tenths) {
    const auto begin = std::chrono::steady_clock::now();
    const long before = pauses();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    woken = pauses() - before;
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    most = 2 * static_cast<long>(passed.count() / 0.3) + 20;
  }
  EXPECT_LE(woken, most);
}

// What a peer has not read yet is not lost when something else goes.
TEST(Nic, RemovesMemoryAndLosesNothingOfOthers) {
  Two two;
  std::memset(two.a.heap.data(), 0x55, 4096);
  MrAttributes mr;  // of the same memory
  mr.pd = two.a.pd;
  mr.base = host_address(two.a.heap.data());
  mr.length = 4096;
  mr.access = Access::local_read;
  const MemoryKey key = *two.a.nic->reg_mr(mr);
  two.b.nic->pause();
  two.a.post_write(two.b.address(0), two.b.key, two.a.address(0), 4096);
  two.a.ring();
  while (two.a.nic->counters().packets_sent == 0) std::this_thread::yield();
  ASSERT_TRUE(two.a.nic->dereg_mr(key));
  two.b.nic->resume();
  ASSERT_TRUE(two.a.wait());
  EXPECT_EQ(two.a.nic->counters().retries, 0u);
  EXPECT_EQ(two.a.nic->counters().packets_sent, 1u);
  EXPECT_EQ(two.b.heap.data()[4095], 0x55);
}

// Keeps what the NIC's thread tells for the test's.
class SharedEvents final : public EventSink {
 public:
  void event(const Event& event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    teller_ = std::this_thread::get_id();
  }
  std::vector<Event> all() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::thread::id teller() const {
    const std::lock_guard lock(mutex_);
    return teller_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::thread::id teller_;
};

TEST(Nic, ItsThreadTellsEvents) {
  SharedEvents events;
  NicOptions listening;
  listening.engine.events = &events;
  const auto fabric = LoopbackFabric::create();
  Client a(*fabric), b(*fabric, listening);
  a.connect(b);
  b.connect(a);
  a.post_write(b.address(0), b.key ^ 0x100, a.address(0), 8);
  a.ring();
  EXPECT_FALSE(a.wait());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (events.all().empty() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(events.all(), (std::vector<Event>{{EventKind::qp_access_error, b.qpn}}));
  EXPECT_NE(events.teller(), std::this_thread::get_id());
  EXPECT_EQ(b.nic->query_cq(b.cqn)->status, CqStatus::ok);
  EXPECT_FALSE(b.nic->query_cq(b.cqn + 1));
}

TEST(Nic, MovesDataThatIsPolledByAThread) {
  Two two;
  auto* flag = reinterpret_cast<std::uint64_t*>(two.b.heap.data());
  auto* source = reinterpret_cast<std::uint64_t*>(two.a.heap.data());
  std::thread poller([&] {
    for (std::uint64_t round = 1; round <= 500; ++round) {
      while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
      // The payload was sent ahead of the flag.
      const auto* payload = reinterpret_cast<const std::uint64_t*>(two.b.heap.data() + 4096);
      for (int i = 0; i < 64; ++i) ASSERT_EQ(payload[i], round);
      __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    }
  });
  for (std::uint64_t round = 1; round <= 500; ++round) {
    source[0] = round;
    std::fill_n(source + 512, 64, round);
    two.a.post_write(two.b.address(4096), two.b.key, two.a.address(4096), 512);
    two.a.post_write(two.b.address(0), two.b.key, two.a.address(0), 8);
    two.a.ring();
    ASSERT_TRUE(two.a.wait());
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
  }
  poller.join();
}

TEST(Nic, ServesBothSidesAtOnceOnFewCores) {
  Two two;
  const auto run = [](Client& from, const Client& to) {
    for (int round = 0; round < 300; ++round) {
      for (int i = 0; i < 16; ++i) {
        from.post_write(to.address(8192), to.key, from.address(8192 * 4), 4096);
      }
      from.ring();
      ASSERT_TRUE(from.wait());
    }
  };
  std::thread other([&] { run(two.b, two.a); });
  run(two.a, two.b);
  other.join();
  EXPECT_EQ(two.a.nic->counters().wqes, 4800u);
  EXPECT_EQ(two.b.nic->counters().wqes, 4800u);
}

TEST(Nic, EightNicsAndEightThreadsMakeProgress) {
  const auto fabric = LoopbackFabric::create();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(*fabric));
  for (std::size_t i = 0; i < 8; i += 2) {
    clients[i]->connect(*clients[i + 1]);
    clients[i + 1]->connect(*clients[i]);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Client& self = *clients[i];
      const Client& peer = *clients[i ^ 1];
      for (int round = 0; round < 100; ++round) {
        self.post_write(peer.address(0), peer.key, self.address(64), 64);
        self.ring();
        ASSERT_TRUE(self.wait());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Nic, PausedItDoesNothingAndResumedEverything) {
  Two two;
  two.a.nic->pause();
  two.a.post_write(two.b.address(0), two.b.key, two.a.address(0), 8);
  two.a.ring();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(two.a.tail().opcode(), format::CqeOpcode::invalid);
  EXPECT_EQ(two.a.nic->counters().packets_sent, 0u);
  EXPECT_EQ(two.a.nic->query_qp(two.a.qpn)->state, QpState::rts);
  two.a.nic->resume();
  EXPECT_TRUE(two.a.wait());
}

TEST(Nic, ControlCallsWorkWhileThereIsTraffic) {
  Two two;
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    while (!stop) {
      for (int i = 0; i < 64; ++i) {
        two.a.post_write(two.b.address(0), two.b.key, two.a.address(4096), 4096);
      }
      two.a.ring();
      ASSERT_TRUE(two.a.wait());
    }
  });
  for (int i = 0; i < 100; ++i) {
    Pages memory(8192);
    const DmaAddress base = host_address(memory.data());
    const auto key =
        two.a.nic->reg_mr({two.a.pd, base, base.value, memory.size(), Access::all, kAnyQp, {}});
    ASSERT_TRUE(key);
    ASSERT_TRUE(two.a.nic->query_qp(two.a.qpn));
    ASSERT_TRUE(two.a.nic->dereg_mr(*key));
  }
  stop = true;
  traffic.join();
}

TEST(Nic, MemoryMayBeUnmappedAfterDereg) {
  // Whoever touches the memory later ends the program.
  constexpr std::size_t kSize = 1 << 20;
  for (int round = 0; round < 30; ++round) {
    const auto fabric = LoopbackFabric::create();
    auto a = std::make_unique<Client>(*fabric);
    auto b = std::make_unique<Client>(*fabric);
    a->connect(*b);
    b->connect(*a);
    void* memory =
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const DmaAddress base = host_address(memory);
    const MemoryKey own = a->key;
    a->key = *a->nic->reg_mr({a->pd, base, base.value, kSize, Access::all, kAnyQp, {}});
    for (int i = 0; i < 100; ++i) a->post_write(b->address(0), b->key, base.value, kSize);
    a->ring();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
    const bool stalled = round % 3 == 0;
    if (stalled) b->nic->pause();
    ASSERT_TRUE(a->nic->dereg_mr(a->key));
    ::munmap(memory, kSize);
    if (stalled) b->nic->resume();
    a->key = own;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(a->nic->destroy_qp(a->qpn));
    if (round % 2 == 0) a.reset();
  }
}

TEST(Nic, ObjectsAreGivenBackInTheReverseOrder) {
  Two two;
  Client& a = two.a;
  EXPECT_FALSE(a.nic->free_uar(a.uar.number));
  EXPECT_FALSE(a.nic->destroy_cq(a.cqn));
  EXPECT_FALSE(a.nic->dealloc_pd(a.pd));
  EXPECT_TRUE(a.nic->destroy_qp(a.qpn));
  EXPECT_TRUE(a.nic->destroy_cq(a.cqn));
  EXPECT_TRUE(a.nic->free_uar(a.uar.number));
  EXPECT_TRUE(a.nic->dereg_mr(a.key));
  EXPECT_TRUE(a.nic->dealloc_pd(a.pd));
  EXPECT_FALSE(a.nic->dereg_mr(a.key));
  EXPECT_FALSE(a.nic->destroy_qp(a.qpn));
}

TEST(Nic, AQueuePairIsResetAndConnectedAgain) {
  Two two;
  for (int round = 0; round < 10; ++round) {
    two.a.post_write(two.b.address(0), two.b.key, two.a.address(0), 4096);
    two.a.ring();
    ASSERT_TRUE(two.a.wait());
    for (Client* client : {&two.a, &two.b}) {
      ASSERT_TRUE(client->nic->modify_qp(client->qpn, {}));
      client->producer = 0;
      std::memset(client->record.data(), 0, client->record.size());
      std::memset(client->cq.data(), format::kInvalidCqeByte, client->cq.size());
    }
    two.a.connect(two.b);
    two.b.connect(two.a);
  }
}

TEST(Nic, ADoorbellBeforeAResetIsNotTheNextQueues) {
  Two two;
  two.a.nic->pause();
  two.a.post_write(two.b.address(0), two.b.key, two.a.address(0), 64);
  two.a.ring();
  two.a.connect(two.b);
  two.a.nic->resume();
  two.b.post_write(two.a.address(0), two.a.key, two.b.address(0), 64);
  two.b.ring();
  ASSERT_TRUE(two.b.wait());  // a's NIC has gone on
  EXPECT_EQ(two.a.nic->query_qp(two.a.qpn)->send_producer, 0u);
}

TEST(Nic, ObjectsGoWithItWhileAPeerStillSends) {
  for (int round = 0; round < 20; ++round) {
    const auto fabric = LoopbackFabric::create();
    auto a = std::make_unique<Client>(*fabric);
    auto b = std::make_unique<Client>(*fabric);
    a->connect(*b);
    b->connect(*a);
    for (int i = 0; i < 200; ++i) {
      a->post_write(b->address(0), b->key, a->address(0), 65536);
    }
    a->ring();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 30));
    (round % 2 == 0 ? a : b).reset();
    // The one that is left serves another.
    Client& left = round % 2 == 0 ? *b : *a;
    Client other(*fabric);
    left.connect(other);
    other.connect(left);
    other.post_write(left.address(0), left.key, other.address(0), 65536);
    other.ring();
    EXPECT_TRUE(other.wait());
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
