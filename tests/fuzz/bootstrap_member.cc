#include <array>
#include <atomic>
#include <chrono>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>

#include "core/base/file_descriptor.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/launch/tcp_listener.h"
#include "tests/fuzz/bootstrap_talk.h"
#include "tests/fuzz/meetings.h"

namespace gdakit::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr int kFrames = 4;

// A good Welcome but for some changes, and frames.
Bytes some_talk(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  tcp_wire::Welcome welcome{tcp_wire::kMagic, Be32(tcp_wire::kVersion), Be32(0), Be32(2), Be32(0)};
  switch (input.below(8)) {
    case 0: welcome.verdict = Be32(input.take<std::uint32_t>()); break;
    case 1: welcome.magic[input.below(8)] ^= 1; break;
    default: break;
  }
  Bytes talk;
  append(talk, welcome);
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Bytes frame = input.below(8) == 0 ? some_bytes(input) : some_frame(input, i);
    talk.insert(talk.end(), frame.begin(), frame.end());
  }
  return talk;
}

// Says the same to everyone who connects, and hangs up.
class MadHub {
 public:
  explicit MadHub(Bytes talk) : talk_(std::move(talk)) {
    Result<UniqueFileDescriptor> listener = open_listener("127.0.0.1", 0);
    if (!listener) throw std::runtime_error(listener.error().message());
    listener_ = std::move(*listener);
    port_ = listener_address(listener_.get())->port;
    thread_ = std::thread([this] { serve(); });
  }
  ~MadHub() {
    ends_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve() {
    while (!ends_) {
      pollfd readable{listener_.get(), POLLIN, 0};
      if (::poll(&readable, 1, 1) != 1) continue;
      const UniqueFileDescriptor one(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      static_cast<void>(::send(one.get(), talk_.data(), talk_.size(), MSG_NOSIGNAL));
      ::shutdown(one.get(), SHUT_WR);
      // Hears it out, so that what was said is not lost to a reset.
      std::array<std::byte, 256> heard;
      pollfd more{one.get(), POLLIN, 0};
      while (::poll(&more, 1, 200) == 1 && ::recv(one.get(), heard.data(), heard.size(), 0) > 0) {
      }
    }
  }

  const Bytes talk_;
  UniqueFileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

template <class T>
std::string check_error(const Result<T>& result) {
  return result || !result.error().message().empty() ? "" : "an error without a sentence";
}

std::string call_all(Bootstrap& bootstrap) {
  const Result<std::vector<Bytes>> gathered = bootstrap.allgather(Bytes(3));
  if (gathered && gathered->size() != 2) return "an allgather without a blob of each PE";
  const Result<Bytes> told = bootstrap.broadcast(0, {});
  const Result<std::vector<Bytes>> given = bootstrap.alltoall(std::vector<Bytes>(2));
  if (given && given->size() != 2) return "an alltoall without a blob of each PE";
  return check_error(gathered) + check_error(told) + check_error(given);
}

}  // namespace

std::string play_bootstrap_member(Input input) {
  const MadHub hub(some_talk(input));
  LaunchInfo info;
  info.rank = 1;
  info.size = 2;
  info.root_host = "127.0.0.1";
  info.root_port = hub.port();
  info.secret = kSecret;
  info.timeout = 20ms;  // for another try to join
  auto member = open_tcp_bootstrap(info, Log(LogLevel::error));
  return member ? call_all(**member) : check_error(member);
}

std::vector<Seed> bootstrap_member_seeds() {
  // No payload, FrameType::answer, no purpose, detail or other sequence, a true length.
  const Seed frame = {1, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0};
  Seed good = {5, 0};
  for (int i = 0; i < kFrames; ++i) good.insert(good.end(), frame.begin(), frame.end());
  Seed fails = good;
  fails[5] = 8;
  return {good, fails, Seed{0, 0, 2, 0, 0, 0}, Seed{1, 0, 3, 0}};
}

}  // namespace gdakit::fuzz
