#include "core/host/bootstrap/tcp_join.h"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "core/base/file_descriptor.h"
#include "core/base/seconds_text.h"
#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_wire.h"

namespace gdakit {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using tcp_wire::Verdict;
using TimePoint = BootstrapClock::time_point;

namespace {

constexpr std::chrono::milliseconds kFirstPause{10};
constexpr std::chrono::milliseconds kLongestPause{500};
// For one attempt to connect to one address; a lost packet, or an address that nothing answers
// from, then costs one attempt and not the whole timeout.
constexpr std::chrono::seconds kConnectPatience{5};

// An error that a further attempt may overcome; the others end the joining.
Error passing(std::string message) { return Error(Code::unavailable, std::move(message)); }

Result<tcp::socket> connect(asio::io_context& io, const tcp::endpoint& endpoint,
                            TimePoint deadline) {
  // Shared with the handler, which may run after a timeout has ended this function.
  struct Attempt {
    explicit Attempt(asio::io_context& context) : socket(context) {}
    tcp::socket socket;
    std::optional<error_code> outcome;
  };
  error_code error;
  const auto attempt = std::make_shared<Attempt>(io);
  // A child that the program starts meanwhile must not get it, so it is closed on exec from birth.
  const int family = endpoint.protocol().family();
  UniqueFileDescriptor made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!made) return Error::from_errno("socket (see ulimit -n)", errno);
  attempt->socket.assign(endpoint.protocol(), made.get(), error);
  if (error) return passing("socket: " + error.message());
  made.release();
  attempt->socket.async_connect(
      endpoint, [attempt](const error_code& outcome) { attempt->outcome = outcome; });
  deadline = std::min(deadline, BootstrapClock::now() + kConnectPatience);
  if (!run_until(io, deadline, [&] { return attempt->outcome.has_value(); })) {
    attempt->socket.close(error);
    return passing("no answer to the attempt to connect");
  }
  if (*attempt->outcome) {
    return Error(Code::unavailable, attempt->outcome->message(), attempt->outcome->value());
  }
  return std::move(attempt->socket);
}

// To the first of the host's addresses that answers.
Result<tcp::socket> connect(asio::io_context& io, const std::string& host, std::uint16_t port,
                            TimePoint deadline) {
  error_code error;
  tcp::resolver resolver(io);
  const auto endpoints =
      resolver.resolve(host, std::to_string(port), tcp::resolver::numeric_service, error);
  if (error) return passing("its address was not found: " + error.message());
  Error last = passing("it has no address");
  for (const auto& endpoint : endpoints) {
    Result<tcp::socket> socket = connect(io, endpoint.endpoint(), deadline);
    if (socket) return socket;
    last = socket.error();
  }
  return last;
}

Result<void> judge(const tcp_wire::Welcome& welcome, const LaunchInfo& info) {
  if (welcome.magic != tcp_wire::kMagic) {
    return Error(Code::invalid_argument, "what listens there is not a gdakit job");
  }
  const auto verdict = static_cast<Verdict>(std::uint32_t{welcome.verdict});
  if (verdict == Verdict::accepted || verdict == Verdict::challenge) return {};
  if (verdict == Verdict::job_ending) return passing(tcp_wire::verdict_text(verdict));
  std::string text = "it refused this process: ";
  text += tcp_wire::verdict_text(verdict);
  text += "; this is PE " + std::to_string(info.rank) + " of " + std::to_string(info.size) +
          ", protocol version " + std::to_string(tcp_wire::kVersion) + ", and the job has " +
          std::to_string(welcome.size) + " PEs, protocol version " +
          std::to_string(welcome.version);
  if (verdict == Verdict::no_descriptors) return Error(Code::exhausted, text);
  return Error(verdict == Verdict::wrong_secret ? Code::permission_denied : Code::invalid_argument,
               text);
}

template <class T>
void send(TcpStream& stream, const T& message) {
  stream.write(std::make_shared<const Bytes>(tcp_wire::encode(message)));
}

// The hub's next words.
template <class T>
Result<T> hear(asio::io_context& io, TcpStream& stream, TimePoint deadline) {
  struct Reply {
    T message{};
    std::optional<Result<void>> read;
  };
  const auto reply = std::make_shared<Reply>();
  stream.read_raw(&reply->message, sizeof(T),
                  [reply](Result<void> read) { reply->read = std::move(read); });
  if (!run_until(io, deadline, [&] { return reply->read.has_value(); })) {
    stream.close();
    return passing("it took the connection but did not answer; has PE 0 opened its bootstrap?");
  }
  if (!*reply->read) return passing("before it answered, " + reply->read->error().message());
  return reply->message;
}

Result<Verdict> hear_verdict(asio::io_context& io, TcpStream& stream, const LaunchInfo& info,
                             TimePoint deadline) {
  const auto welcome = hear<tcp_wire::Welcome>(io, stream, deadline);
  if (!welcome) return welcome.error();
  if (const Result<void> good = judge(*welcome, info); !good) return good.error();
  return static_cast<Verdict>(std::uint32_t{welcome->verdict});
}

Error false_hub() {
  return Error(Code::permission_denied,
               "what listens there does not prove that it knows the job's secret (GDAKIT_SECRET)");
}

Result<void> shake_hands(asio::io_context& io, TcpStream& stream, const LaunchInfo& info,
                         TimePoint deadline) {
  const tcp_wire::Hello hello{tcp_wire::kMagic,
                              Be32(tcp_wire::kVersion),
                              Be32(static_cast<std::uint32_t>(info.rank)),
                              Be32(static_cast<std::uint32_t>(info.size)),
                              Be32(0),
                              make_nonce()};
  send(stream, hello);
  const Result<Verdict> first = hear_verdict(io, stream, info, deadline);
  if (!first) return first.error();
  if (*first != Verdict::challenge) return false_hub();
  const auto nonce = hear<tcp_wire::Nonce>(io, stream, deadline);
  if (!nonce) return nonce.error();
  send(stream, make_proof(info.secret, ProofRole::member, hello, *nonce));
  const Result<Verdict> last = hear_verdict(io, stream, info, deadline);
  if (!last) return last.error();
  if (*last != Verdict::accepted) return false_hub();
  const auto proof = hear<tcp_wire::Proof>(io, stream, deadline);
  if (!proof) return proof.error();
  const bool is_true = is_same(*proof, make_proof(info.secret, ProofRole::hub, hello, *nonce));
  return is_true ? Result<void>() : false_hub();
}

Result<std::shared_ptr<TcpStream>> attempt_join(asio::io_context& io, const LaunchInfo& info,
                                                const std::string& host, std::uint16_t port,
                                                TimePoint deadline) {
  Result<tcp::socket> socket = connect(io, host, port, deadline);
  if (!socket) return socket.error();
  const auto stream = std::make_shared<TcpStream>(std::move(*socket));
  if (Result<void> shaken = shake_hands(io, *stream, info, deadline); !shaken) {
    stream->close();
    return shaken.error();
  }
  return stream;
}

// What may be done about it, where nobody can be reached.
constexpr const char* kRemedy =
    "; PE 0 listens there from its init until its Context ends: has it come there, has it ended "
    "already, and do all PEs mean that address (GDAKIT_ROOT)? GDAKIT_TIMEOUT is how long they try";

}  // namespace

Result<std::shared_ptr<TcpStream>> join_hub(asio::io_context& io, const LaunchInfo& info,
                                            const std::string& host, std::uint16_t port) {
  const TimePoint deadline = BootstrapClock::now() + info.timeout;
  const std::string hub = "PE 0 at " + host + ":" + std::to_string(port);
  std::chrono::milliseconds pause = kFirstPause;
  std::string reason;
  for (;;) {
    Result<std::shared_ptr<TcpStream>> stream = attempt_join(io, info, host, port, deadline);
    if (stream) return stream;
    if (stream.error().code() != Code::unavailable) return stream.error().within(hub);
    if (info.launcher_keeps_port && stream.error().system_code() == ECONNREFUSED) {
      return Error(Code::aborted, "PE " + std::to_string(info.rank) + " came too late to join " +
                                      hub + ": its port is closed, so PE 0 has ended");
    }
    const TimePoint now = BootstrapClock::now();
    // An attempt that the deadline cut short says less than one before it that ended by itself.
    if (reason.empty() || now < deadline) reason = stream.error().message();
    if (now + pause >= deadline) {
      return Error(Code::timed_out, "PE " + std::to_string(info.rank) + " could not join " + hub +
                                        " within " + seconds_text(info.timeout) + ": " + reason +
                                        kRemedy);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace gdakit
