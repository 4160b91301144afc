#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/base/file_descriptor.h"
#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_hub.h"
#include "tests/fuzz/bootstrap_talk.h"
#include "tests/fuzz/meetings.h"

namespace gdakit::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPes = 3;
constexpr std::size_t kConnections = 5;
constexpr int kMostActions = 60;

class Connection {
 public:
  explicit Connection(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // What a hub that hangs does not say.
    const timeval patience{20, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the hub does not listen");
    }
  }

  void send(const Bytes& bytes) {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  template <class T>
  bool hear(T& value) {
    return fuzz::hear(socket_.get(), value);
  }

  // Says no more, and hears the hub out. False: it does not come to an end.
  bool hear_out(Bytes& said) {
    ::shutdown(socket_.get(), SHUT_WR);
    std::array<std::byte, 4096> part;
    for (;;) {
      const ssize_t size = ::recv(socket_.get(), part.data(), part.size(), 0);
      if (size == 0 || (size < 0 && errno == ECONNRESET)) return true;
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return false;
      said.insert(said.end(), part.begin(), part.begin() + size);
    }
  }

 private:
  UniqueFileDescriptor socket_;
};

tcp_wire::Hello some_hello(softnic::test::Input& input, std::uint32_t rank) {
  tcp_wire::Hello hello{tcp_wire::kMagic, Be32(tcp_wire::kVersion), Be32(rank), Be32(kPes),
                        Be32(0),          tcp_wire::Nonce{}};
  switch (input.below(12)) {
    case 0: hello.rank = Be32(input.take<std::uint32_t>()); break;
    case 1: hello.size = Be32(input.take<std::uint32_t>()); break;
    case 2: hello.nonce[input.below(16)] ^= 1; break;
    case 3: hello.version = Be32(input.take<std::uint32_t>()); break;
    case 4: hello.magic[input.below(8)] ^= 1; break;
    default: break;
  }
  return hello;
}

template <class T>
bool take(std::span<const std::byte>& said, T& value) {
  if (said.size() < sizeof value) return false;
  std::memcpy(&value, said.data(), sizeof value);
  said = said.subspan(sizeof value);
  return true;
}

struct Challenge {
  tcp_wire::Welcome welcome;
  tcp_wire::Nonce nonce;
};

bool is_text_of_hub(tcp_wire::FrameType type) {
  switch (type) {
    case tcp_wire::FrameType::failure:
    case tcp_wire::FrameType::refusal:
    case tcp_wire::FrameType::lost:
    case tcp_wire::FrameType::ended_by: return true;
    default: return false;
  }
}

// Nothing; or a Welcome, which may have been cut, and behind a good one a proof and frames.
std::string check_said(std::span<const std::byte> said) {
  tcp_wire::Welcome welcome;
  if (!take(said, welcome)) return {};
  if (welcome.magic != tcp_wire::kMagic || welcome.size != kPes) return "a Welcome of another hub";
  const bool accepted = welcome.verdict == static_cast<std::uint32_t>(tcp_wire::Verdict::accepted);
  if (!accepted) return said.empty() ? "" : "the hub says more to one it has refused";
  tcp_wire::Proof proof;
  if (!take(said, proof)) return said.empty() ? "" : "a Welcome without a proof";
  tcp_wire::FrameHeader header;
  while (take(said, header)) {
    const auto type = static_cast<tcp_wire::FrameType>(std::uint16_t{header.type});
    const bool is_text = is_text_of_hub(type);
    if (type != tcp_wire::FrameType::answer && !is_text) {
      return "the hub sent a frame that is none of a hub";
    }
    if (is_text && header.length > tcp_wire::kMaxTextBytes) return "too long a text";
    said = said.subspan(std::min<std::uint64_t>(header.length, said.size()));
  }
  return {};
}

class Run {
 public:
  explicit Run(Input input) : input_(input.data(), input.size()) {
    UniqueFileDescriptor listener = listen_here();
    port_ = listener_address(listener.get())->port;
    TcpHub::Settings settings;
    settings.size = kPes;
    settings.secret = kSecret;
    settings.timeout = 2s;
    settings.log = Log(LogLevel::error);
    // By what takes nothing of the input, so that what it says is the same for both.
    settings.peer_loss = input.size() % 2 == 0 ? PeerLoss::end : PeerLoss::go_on;
    hub_ = std::move(*TcpHub::start(std::move(listener), settings));
  }

  std::string play() {
    for (int actions = 0; actions < kMostActions && !input_.empty(); ++actions) act();
    std::string wrong;
    for (std::optional<Connection>& connection : connections_) {
      Bytes said;
      if (!connection) continue;
      if (!connection->hear_out(said)) return "the hub keeps a connection that has ended";
      if (wrong.empty()) wrong = check_said(said);
    }
    const auto begun = std::chrono::steady_clock::now();
    hub_.reset();
    if (std::chrono::steady_clock::now() - begun > 20s) return "the hub did not end in time";
    return wrong;
  }

 private:
  void act() {
    const std::uint32_t which = input_.below(kConnections);
    std::optional<Connection>& connection = connections_[which];
    if (!connection) {
      connection.emplace(port_);
      const tcp_wire::Hello hello = some_hello(input_, which % kPes);
      if (input_.below(8) == 0) return connection->send(some_bytes(input_));
      return greet(*connection, hello);
    }
    switch (input_.below(16)) {
      case 0: connection.reset(); break;
      case 1: connection->send(some_bytes(input_)); break;
      default: connection->send(some_frame(input_, sequence_ += input_.below(2)));
    }
  }

  // Proves as much as it says.
  void greet(Connection& connection, const tcp_wire::Hello& hello) {
    Bytes words;
    append(words, hello);
    connection.send(words);
    Challenge challenge{};
    if (hello.magic != tcp_wire::kMagic || hello.version != tcp_wire::kVersion ||
        !connection.hear(challenge)) {
      return;
    }
    tcp_wire::Proof proof = make_proof(kSecret, ProofRole::member, hello, challenge.nonce);
    if (hello.nonce != tcp_wire::Nonce{}) proof[hello.nonce[0] + 1] ^= 1;
    words.clear();
    append(words, proof);
    connection.send(words);
  }

  softnic::test::Input input_;
  std::uint16_t port_ = 0;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<TcpHub> hub_;
  std::array<std::optional<Connection>, kConnections> connections_;
};

}  // namespace

std::string play_bootstrap_hub(Input input) { return Run(input).play(); }

std::vector<Seed> bootstrap_hub_seeds() {
  // Connections 0 to 2 say a good Hello, and then come to frames of the type `type`.
  const auto all_send = [](std::uint8_t type) {
    Seed seed;
    for (std::uint8_t pe = 0; pe < kPes; ++pe) {
      const Seed hello = {pe, 0, 11, 0, 1, 0};
      seed.insert(seed.end(), hello.begin(), hello.end());
    }
    for (std::uint8_t pe = 0; pe < kPes; ++pe) {
      // The frame's action, payload of none, type, purpose, detail, sequence, a true length.
      const Seed frame = {pe, 0, 2, 0, 0, 0, 0, type, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0};
      seed.insert(seed.end(), frame.begin(), frame.end());
    }
    return seed;
  };
  std::vector<Seed> seeds = {Seed{0, 0, 11, 0, 0, 0, 40}};
  for (std::uint8_t type = 0; type < 9; ++type) seeds.push_back(all_send(type));
  return seeds;
}

}  // namespace gdakit::fuzz
