#include <array>
#include <atomic>
#include <chrono>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>

#include "core/base/file_descriptor.h"
#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/launch/tcp_listener.h"
#include "tests/fuzz/bootstrap_talk.h"
#include "tests/fuzz/meetings.h"

namespace gdakit::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr int kFrames = 4;

tcp_wire::Welcome welcome_of(tcp_wire::Verdict verdict) {
  return {tcp_wire::kMagic, Be32(tcp_wire::kVersion), Be32(static_cast<std::uint32_t>(verdict)),
          Be32(2), Be32(0)};
}

// What a hub says, good but for some changes.
struct Talk {
  tcp_wire::Welcome first = welcome_of(tcp_wire::Verdict::challenge);
  tcp_wire::Welcome second = welcome_of(tcp_wire::Verdict::accepted);
  bool proves = true;
  Bytes frames = {};
};

Talk some_talk(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  Talk talk;
  switch (input.below(8)) {
    case 0: talk.first.verdict = Be32(input.take<std::uint32_t>()); break;
    case 1: talk.first.magic[input.below(8)] ^= 1; break;
    case 2: talk.second.verdict = Be32(input.take<std::uint32_t>()); break;
    case 3: talk.proves = false; break;
    default: break;
  }
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Bytes frame = input.below(8) == 0 ? some_bytes(input) : some_frame(input, i);
    talk.frames.insert(talk.frames.end(), frame.begin(), frame.end());
  }
  return talk;
}

// Says the same to everyone who connects, and hangs up.
class MadHub {
 public:
  explicit MadHub(Talk talk) : talk_(std::move(talk)) {
    listener_ = listen_here();
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
      const timeval patience{0, 200'000};
      ::setsockopt(one.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      talk(one.get());
      ::shutdown(one.get(), SHUT_WR);
      // Hears it out, so that what was said is not lost to a reset.
      std::array<std::byte, 256> heard;
      pollfd more{one.get(), POLLIN, 0};
      while (::poll(&more, 1, 200) == 1 && ::recv(one.get(), heard.data(), heard.size(), 0) > 0) {
      }
    }
  }

  void talk(int socket) const {
    const tcp_wire::Nonce nonce{};
    Bytes words;
    append(words, talk_.first);
    append(words, nonce);
    say(socket, words);
    tcp_wire::Hello hello;
    tcp_wire::Proof proof;
    if (!hear(socket, hello) || !hear(socket, proof)) return;
    words.clear();
    append(words, talk_.second);
    append(words, talk_.proves ? make_proof(kSecret, ProofRole::hub, hello, nonce) : proof);
    words.insert(words.end(), talk_.frames.begin(), talk_.frames.end());
    say(socket, words);
  }
  static void say(int socket, const Bytes& words) {
    static_cast<void>(::send(socket, words.data(), words.size(), MSG_NOSIGNAL));
  }

  const Talk talk_;
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
  for (const LostPe& lost : bootstrap.take_losses()) {
    if (lost.pe != 0) return "a loss of no other PE";
  }
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
