#include "backends/softnic/uverbs/fabric_control.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/uverbs/socket_name.h"
#include "core/base/library_thread.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kPieceBytes = 16384;
constexpr time_t kPatienceSeconds = 2;
constexpr std::chrono::milliseconds kBetweenTries{10};

// Of accept(): such as that the client has gone, or the program has used up its descriptors.
bool is_passing(int error) {
  constexpr std::array kPassing = {EINTR, EAGAIN, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM};
  return std::ranges::find(kPassing, error) != kPassing.end();
}

// Neither side waits longer for the other.
void set_patience(int socket) {
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// Until there is one, or the system interrupts; false: the socket is shut down.
bool wait_for_client(int socket) {
  pollfd waiting{socket, POLLIN, 0};
  return ::poll(&waiting, 1, -1) <= 0 || (waiting.revents & POLLHUP) == 0;
}

KeptFile accept_client(int socket) {
  const OpeningOwnFiles opening;
  return keep_file(UniqueFileDescriptor(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC)));
}

bool may_ask(int client) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  return peer.uid == ::getuid() || peer.uid == 0;
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kPieceBytes);
    if (::send(socket, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

Error no_answer(const Member& member, int error) {
  const std::string who = "process " + std::to_string(member.pid);
  if (error == EAGAIN) {
    return Error(Code::timed_out,
                 who + " has not answered for 2 s: it may be stopped; continue or end it");
  }
  return Error::from_errno(who + " does not answer", error);
}

}  // namespace

FabricControl::FabricControl(KeptFile socket, Answer answer)
    : socket_(std::move(socket)), answer_(std::move(answer)) {
  thread_ = start_library_thread([this] { run(); });
}

FabricControl::~FabricControl() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void FabricControl::run() const {
  while (wait_for_client(socket_.get())) {
    if (const KeptFile client = accept_client(socket_.get())) {
      serve(client);
    } else if (is_passing(errno)) {
      std::this_thread::sleep_for(kBetweenTries);
    } else {
      return;
    }
  }
}

void FabricControl::serve(const KeptFile& client) const {
  if (!may_ask(client.get())) return;
  set_patience(client.get());
  std::array<char, kMostRequestBytes> request;
  const ssize_t bytes = ::recv(client.get(), request.data(), request.size(), 0);
  if (bytes <= 0) return;
  const Result<std::string> answer = answer_({request.data(), static_cast<std::size_t>(bytes)});
  send_all(client.get(), answer ? "+" + *answer : "-" + answer.error().message());
}

Result<UniqueFileDescriptor> connect_to(const Member& member) {
  UniqueFileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("a socket cannot be made", errno);
  set_patience(socket.get());
  const SocketName at(member.name);
  const std::string who = "process " + std::to_string(member.pid);
  if (::connect(socket.get(), at.get(), at.bytes) != 0) {
    if (errno == EAGAIN) return no_answer(member, errno);
    return Error::from_errno(who + " cannot be asked", errno);
  }
  ucred peer{};
  socklen_t bytes = sizeof peer;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  if (peer.uid != ::getuid()) {
    return Error(Code::permission_denied, "another user listens under the name of " + who);
  }
  if (peer.pid == member.pid) return socket;
  return Error(Code::unavailable, who + " is not who listens under its name; another one does");
}

Result<std::string> ask(const Member& member, const std::string& request) {
  const auto socket = connect_to(member);
  if (!socket) return socket.error();
  if (!send_all(socket->get(), request)) return no_answer(member, errno);
  std::string answer;
  std::array<char, kPieceBytes> piece;
  while (true) {
    const ssize_t bytes = ::recv(socket->get(), piece.data(), piece.size(), 0);
    if (bytes < 0) return no_answer(member, errno);
    if (bytes == 0) break;
    answer.append(piece.data(), static_cast<std::size_t>(bytes));
  }
  if (answer.empty()) return no_answer(member, ECONNRESET);
  const std::string text = answer.substr(1);
  if (answer.front() == '+') return text;
  return Error(Code::invalid_argument, text);
}

}  // namespace gdakit::softnic::uverbs
