#include "core/host/sharing/handle_exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

#include "core/base/hex.h"
#include "core/base/process_status.h"
#include "core/base/seconds_text.h"

namespace gdakit {
namespace {

// One datagram: one chunk with its descriptor or, of a PE that gives none, nothing but the header.
struct Message {
  std::uint64_t magic;
  HandleExchange::Token token;
  std::uint32_t rank;
  std::uint32_t round;
  std::uint32_t count;  // chunks that the sender gives in this round
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(Message) == 56);

constexpr std::uint64_t kMagic = 0x6764616b69744831;  // "gdakitH1"
constexpr int kRetryMilliseconds = 1;                 // while a peer's socket is full
constexpr int kAliveMilliseconds = 100;               // between two looks at the peers' processes

// What a PE tells the others of its socket.
struct Introduction {
  std::uint8_t made;
  HandleExchange::Token name;
  HandleExchange::Token token;  // PE 0's is everybody's
  pid_t process;
  std::int32_t error;  // errno, if it has none
};

std::string socket_name(const HandleExchange::Token& random) {
  return "gdakit-" + hex_digits(random);
}

// The address, and its length, of a name in the abstract namespace.
std::pair<sockaddr_un, socklen_t> socket_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

Result<UniqueFileDescriptor> open_socket(const std::string& name) {
  UniqueFileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno("socket for descriptors of other PEs", errno);
  const auto [address, length] = socket_address(name);
  const int on = 1;
  // The kernel then adds the sender's process and user to each message.
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return Error::from_errno("bind of the socket for descriptors of other PEs", errno);
  }
  return socket;
}

int send_message(int socket, const std::string& to, const Message& message, int descriptor) {
  auto [address, length] = socket_address(to);
  Message copy = message;
  iovec bytes{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = length;
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? errno : 0;
}

// A datagram as it came, with what the kernel says of it.
struct Datagram {
  Message message{};
  std::size_t size = 0;
  bool cut = false;                  // longer than a message
  bool without_descriptors = false;  // that it came with: there was no room for them
  std::optional<ucred> sender;
  std::vector<UniqueFileDescriptor> descriptors;
};

void take_control(msghdr& header, Datagram& datagram) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET) continue;
    if (at->cmsg_type == SCM_CREDENTIALS) {
      datagram.sender.emplace();
      std::memcpy(&*datagram.sender, CMSG_DATA(at), sizeof(ucred));
    } else if (at->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(at) + i * sizeof(int), sizeof descriptor);
        datagram.descriptors.emplace_back(descriptor);
      }
    }
  }
}

std::optional<Datagram> receive_datagram(int socket) {
  Datagram datagram;
  iovec bytes{&datagram.message, sizeof datagram.message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(4 * sizeof(int))];
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (size < 0) return std::nullopt;
  take_control(header, datagram);
  datagram.size = static_cast<std::size_t>(size);
  datagram.cut = (header.msg_flags & MSG_TRUNC) != 0;
  datagram.without_descriptors = (header.msg_flags & MSG_CTRUNC) != 0;
  return datagram;
}

// Why the datagram is none of this job's; empty if it is.
std::string refusal(const Datagram& datagram, const HandleExchange::Token& token,
                    std::size_t ranks) {
  const Message& message = datagram.message;
  const std::string from =
      datagram.sender ? " (from process " + std::to_string(datagram.sender->pid) + ")" : "";
  if (!datagram.sender || datagram.sender->uid != ::geteuid()) {
    return "it comes from another user" + from;
  }
  if (datagram.size != sizeof message) {
    return "it has " + std::to_string(datagram.size) + " bytes instead of " +
           std::to_string(sizeof message) + from;
  }
  if (message.magic != kMagic || message.token != token) {
    return "it does not know the job's token" + from;
  }
  if (datagram.without_descriptors) {
    return "a descriptor could not be received: see ulimit -n" + from;
  }
  if (datagram.cut || message.rank >= ranks || message.count > HandleExchange::kMaxChunks ||
      datagram.descriptors.size() != (message.count == 0 ? 0u : 1u)) {
    return "it says what no PE says" + from;
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<HandleExchange>> HandleExchange::open(Bootstrap& bootstrap,
                                                             std::chrono::milliseconds timeout,
                                                             const std::vector<bool>& group) {
  std::unique_ptr<HandleExchange> exchange(new HandleExchange(bootstrap, timeout));
  Introduction mine{};
  mine.process = ::getpid();
  const bool random = ::getrandom(&mine.name, sizeof mine.name, 0) == sizeof mine.name &&
                      ::getrandom(&mine.token, sizeof mine.token, 0) == sizeof mine.token;
  Result<UniqueFileDescriptor> socket =
      random ? open_socket(socket_name(mine.name)) : Error::from_errno("getrandom", errno);
  mine.made = socket ? 1 : 0;
  mine.error = socket ? 0 : socket.error().system_code();
  Result<std::vector<Introduction>> all = allgather_value(bootstrap, mine);
  if (!socket) return socket.error();
  if (!all) return all.error();
  for (const Introduction& peer : *all) {
    if (peer.made == 0) {
      const auto pe = std::to_string(&peer - all->data());
      return Error::from_errno("PE " + pe + " has no socket for descriptors", peer.error);
    }
    const bool is_in_group = group.empty() || group[exchange->peers_.size()];
    exchange->peers_.push_back({socket_name(peer.name), peer.process, is_in_group, 0, {}});
  }
  exchange->socket_ = std::move(*socket);
  exchange->token_ = all->front().token;
  return exchange;
}

Result<std::vector<std::vector<SharedChunk>>> HandleExchange::exchange(
    const std::vector<SharedChunk>& mine) {
  if (mine.size() > kMaxChunks) {
    return Error(Code::invalid_argument, "exchange of " + std::to_string(mine.size()) +
                                             " chunks: at most " + std::to_string(kMaxChunks) +
                                             " at a time");
  }
  const WaitLimit limit(clock_, timeout_);
  const auto me = static_cast<std::size_t>(rank_);
  ++round_;
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    const bool takes = pe != me && peers_[pe].is_in_group;
    peers_[pe].sent = takes ? 0 : static_cast<std::uint32_t>(expected_messages(mine));
  }
  for (;;) {
    if (Result<void> sent = send_some(mine); !sent) return sent.error();
    receive_some();
    if (out_of_descriptors_) {
      return Error(Code::exhausted, "exchange of descriptors: " + why_dropped_);
    }
    const auto unsent = [&](const Peer& peer) { return peer.sent != expected_messages(mine); };
    const bool sending = std::ranges::any_of(peers_, unsent);
    const bool complete_all =
        std::ranges::all_of(peers_, [&](const Peer& peer) { return complete(peer); });
    if (!sending && complete_all) break;
    if (limit.passed()) return missing_peers();
    pollfd readable{socket_.get(), POLLIN, 0};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(limit.rest()).count();
    const auto until_look = std::min<std::int64_t>(kAliveMilliseconds, rest);
    const int ready =
        ::poll(&readable, 1, sending ? kRetryMilliseconds : static_cast<int>(until_look));
    if (ready > 0 || sending) continue;
    if (Result<void> alive = check_alive(); !alive) return alive.error();
  }
  std::vector<std::vector<SharedChunk>> given(peers_.size());
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    std::vector<Received>& inbox = peers_[pe].inbox;
    for (Received& received : inbox) {
      const bool has_chunk = received.round == round_ && received.count != 0;
      if (has_chunk) given[pe].push_back(std::move(received.chunk));
    }
    std::erase_if(inbox, [this](const Received& one) { return one.round == round_; });
  }
  return given;
}

std::size_t HandleExchange::expected_messages(const std::vector<SharedChunk>& mine) const {
  return std::max<std::size_t>(1, mine.size());
}

// Sends until all is sent or the peers' sockets are full.
Result<void> HandleExchange::send_some(const std::vector<SharedChunk>& mine) {
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    Peer& peer = peers_[pe];
    while (peer.sent != expected_messages(mine)) {
      Message message{kMagic, token_, static_cast<std::uint32_t>(rank_), round_, 0, 0, 0, 0};
      message.count = static_cast<std::uint32_t>(mine.size());
      int descriptor = -1;
      if (!mine.empty()) {
        message.offset = mine[peer.sent].offset;
        message.bytes = mine[peer.sent].bytes;
        descriptor = mine[peer.sent].descriptor.get();
      }
      const int error = send_message(socket_.get(), peer.name, message, descriptor);
      // ETOOMANYREFS: too many descriptors of this user are under way.
      if (error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS) break;
      if (error != 0) {
        return Error::from_errno("sending a descriptor to PE " + std::to_string(pe), error);
      }
      ++peer.sent;
    }
  }
  return {};
}

// Not more at once, so that a process that sends without end does not keep this one from looking
// at the time.
void HandleExchange::receive_some() {
  constexpr int kAtOnce = 1024;
  for (int i = 0; i < kAtOnce && receive_one(); ++i) {
  }
}

bool HandleExchange::receive_one() {
  std::optional<Datagram> datagram = receive_datagram(socket_.get());
  if (!datagram) return false;
  std::string why = refusal(*datagram, token_, peers_.size());
  if (why.empty() &&
      !is_expected(datagram->message.rank, datagram->message.round, datagram->message.count)) {
    why = "PE " + std::to_string(datagram->message.rank) + " gives more than it said";
  }
  if (!why.empty()) {
    ++dropped_;
    why_dropped_ = why;
    out_of_descriptors_ |= datagram->without_descriptors && datagram->size == sizeof(Message) &&
                           datagram->message.token == token_;
    return true;
  }
  const Message& message = datagram->message;
  // A PE that is through with this round may have begun the next; none is further.
  if (message.round != round_ && message.round != round_ + 1) return true;
  Received received{message.round, message.count, {{}, message.offset, message.bytes}};
  if (message.count != 0) received.chunk.descriptor = std::move(datagram->descriptors.front());
  peers_[message.rank].inbox.push_back(std::move(received));
  return true;
}

// A PE says in each message of a round how many it gives in that, and gives no more.
bool HandleExchange::is_expected(std::uint32_t rank, std::uint32_t round,
                                 std::uint32_t count) const {
  if (rank == static_cast<std::uint32_t>(rank_) || !peers_[rank].is_in_group) return false;
  std::uint32_t before = 0;
  for (const Received& one : peers_[rank].inbox) {
    if (one.round != round) continue;
    if (one.count != count) return false;
    ++before;
  }
  return before < std::max(1u, count);
}

bool HandleExchange::complete(const Peer& peer) const {
  if (!peer.is_in_group || &peer == &peers_[static_cast<std::size_t>(rank_)]) return true;
  std::uint32_t arrived = 0, expected = 1;
  for (const Received& one : peer.inbox) {
    if (one.round != round_) continue;
    ++arrived;
    expected = std::max(1u, one.count);
  }
  return arrived == expected;
}

Error HandleExchange::missing_peers() const {
  std::string who;
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    if (!complete(peers_[pe])) who += (who.empty() ? "PE " : ", PE ") + std::to_string(pe);
  }
  if (who.empty()) who = "room in a peer's socket";
  std::string text = "exchange of descriptors timed out after " + seconds_text(timeout_) +
                     ": no message from " + who;
  if (dropped_ != 0) {
    text += "; " + std::to_string(dropped_) + " dropped, the last because " + why_dropped_;
  }
  return Error(Code::timed_out, text);
}

Result<void> HandleExchange::check_alive() const {
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    if (complete(peers_[pe]) || process_runs(peers_[pe].process)) continue;
    return Error(Code::aborted, "exchange of descriptors: PE " + std::to_string(pe) + " is gone");
  }
  return {};
}

}  // namespace gdakit
