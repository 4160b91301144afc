#include "backends/softnic/uverbs/fabric_control.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include "core/base/library_thread.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kPieceBytes = 16384;
constexpr time_t kPatienceSeconds = 2;
constexpr std::chrono::milliseconds kBetweenTries{10};

// Of accept(): such as that the program has used up its descriptors.
bool is_passing(int error) {
  constexpr std::array kPassing = {EINTR, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM};
  return std::ranges::find(kPassing, error) != kPassing.end();
}

// Neither side waits longer for the other.
void set_patience(int socket) {
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
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

FabricControl::FabricControl(OwnFile socket, Answer answer)
    : socket_(std::move(socket)), answer_(std::move(answer)) {
  thread_ = start_library_thread([this] { run(); });
}

FabricControl::~FabricControl() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void FabricControl::run() const {
  while (true) {
    UniqueFileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
      serve(own_file(std::move(client)));
    } else if (is_passing(errno)) {
      std::this_thread::sleep_for(kBetweenTries);
    } else {
      return;  // shut down
    }
  }
}

void FabricControl::serve(const OwnFile& client) const {
  if (!may_ask(client.get())) return;
  set_patience(client.get());
  std::array<char, kMostRequestBytes> request;
  const ssize_t bytes = ::recv(client.get(), request.data(), request.size(), 0);
  if (bytes <= 0) return;
  const Result<std::string> answer = answer_({request.data(), static_cast<std::size_t>(bytes)});
  send_all(client.get(), answer ? "+" + *answer : "-" + answer.error().message());
}

Result<std::string> ask(const Member& member, const std::string& request) {
  const auto socket = connect_to(member);
  if (!socket) return socket.error();
  set_patience(socket->get());
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
