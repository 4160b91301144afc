// Management datagrams between NICs of a fabric, beside what their engines send.
#include "backends/softnic/uverbs/mad_wire.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/device.h"
#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace std::chrono_literals;

struct Heard {
  Endpoint from = 0;
  Mad mad{};
};

class Listener {
 public:
  explicit Listener(Device& device) : device_(device) {
    device.mads().set_receiver([this](Endpoint from, const Mad& mad) {
      const std::lock_guard lock(mutex_);
      heard_.push_back({from, mad});
    });
  }
  ~Listener() { device_.mads().set_receiver(nullptr); }

  // All so far, once there are as many.
  std::vector<Heard> wait_for(std::size_t count) {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < limit) {
      {
        const std::lock_guard lock(mutex_);
        if (heard_.size() >= count) return heard_;
      }
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "datagrams do not come";
    return {};
  }

 private:
  Device& device_;
  std::mutex mutex_;
  std::vector<Heard> heard_;
};

Mad numbered(std::uint8_t number) {
  Mad mad{};
  mad.front() = number;
  mad.back() = static_cast<std::uint8_t>(~number);
  return mad;
}

TEST(UverbsMads, ArriveAndAreNotCountedAsDropped) {
  const Spec spec = test::own_spec("mads");
  const std::unique_ptr<Device> near = test::open_device(spec), far = test::open_device(spec);
  Listener listener(*far);
  constexpr std::uint8_t kMany = 200;
  for (std::uint8_t i = 0; i < kMany; ++i) {
    near->mads().send(near->nic(), far->place(), numbered(i));
    // Few enough under way that there is room for all.
    if (i % 10 == 9) listener.wait_for(i + 1u);
  }
  const std::vector<Heard> heard = listener.wait_for(kMany);
  ASSERT_EQ(heard.size(), kMany);
  for (std::uint8_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(heard[i].from, near->place());
    EXPECT_EQ(heard[i].mad, numbered(i));
  }
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (far->nic().counters().dropped_packets != 0 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(far->nic().counters().dropped_packets, 0u);
}

TEST(UverbsMads, ReachTheirSender) {
  const std::unique_ptr<Device> device = test::open_device(test::own_spec("mads-self"));
  Listener listener(*device);
  device->mads().send(device->nic(), device->place(), numbered(7));
  EXPECT_EQ(listener.wait_for(1).at(0).mad, numbered(7));
}

TEST(UverbsMads, AreLostWhereNobodyListens) {
  const Spec spec = test::own_spec("mads-lost");
  const std::unique_ptr<Device> near = test::open_device(spec), far = test::open_device(spec);
  near->mads().send(near->nic(), far->place(), numbered(1));
  near->mads().send(near->nic(), 63, numbered(1));
  std::this_thread::sleep_for(20ms);
  Listener listener(*far);
  near->mads().send(near->nic(), far->place(), numbered(2));
  EXPECT_EQ(listener.wait_for(1).at(0).mad, numbered(2));
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
