// The port of each PE's NIC, where more want one than may share it.
#include "backends/softnic/port_sharing.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/bootstrap/local_bootstrap.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// PE 65 is of another host.
class MoreThanSharePort : public testing::Test {
 protected:
  // What each PE finds wrong.
  std::vector<std::string> open_crowd(const std::string& address) {
    auto members = make_local_bootstraps(66, 60s);
    std::vector<std::size_t> firsts(66);
    firsts.back() = 65;
    std::vector<std::string> errors(66);
    std::vector<std::thread> threads;
    testing::internal::CaptureStderr();
    for (std::size_t pe = 0; pe < 66; ++pe) {
      threads.emplace_back([&, pe, member = std::move((*members)[pe])] {
        Options options;
        options.nic_address = pe == 65 ? "127.0.0.2:0" : address;
        const NicPlace place = *find_nic_place(options.nic_address, static_cast<std::uint32_t>(pe));
        const auto port = open_port(options, *member, place, Hosts(firsts));
        errors[pe] = port ? "" : port.error().message();
        EXPECT_EQ(port ? port->share.bits : 0, 0u);
        EXPECT_TRUE(member->barrier());
      });
    }
    for (std::thread& thread : threads) thread.join();
    said = testing::internal::GetCapturedStderr();
    return errors;
  }

  std::string said;  // by all of them
};

TEST_F(MoreThanSharePort, TakeOnesOfTheirOwnAndSayWhyOnce) {
  EXPECT_THAT(open_crowd("127.7.7.8"), testing::Each(""));
  const std::string why =
      "GDAKIT_NIC_ADDRESS: 65 PEs of a host want 127.7.7.8:4791, and 64 at most share a port: each "
      "of these takes one of its own. To share ports, give some of them another address of the "
      "host";
  EXPECT_THAT(said, HasSubstr(why));
  EXPECT_EQ(said.find("want"), said.rfind("want")) << said;
}

TEST_F(MoreThanSharePort, AreRefusedOneThatWasNamed) {
  EXPECT_THAT(open_crowd("127.7.7.8:4792"),
              testing::Each("GDAKIT_NIC_ADDRESS: 65 PEs of a host want 127.7.7.8:4792, and 64 at "
                            "most share a port; give some of them another address of the host, or "
                            "name no port, and each of them takes one of its own"));
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace gdakit::softnic
