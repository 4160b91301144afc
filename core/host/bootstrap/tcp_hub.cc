#include "core/host/bootstrap/tcp_hub.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "core/base/library_thread.h"
#include "core/host/bootstrap/job_proof.h"

namespace gdakit {
namespace asio = boost::asio;
using boost::system::error_code;
using tcp_wire::FrameType;
using tcp_wire::Verdict;

namespace {

// How long a guest may take for its handshake, and how many may be at it beyond one for each PE.
constexpr std::chrono::milliseconds kGuestPatience{10'000};
constexpr std::size_t kGuestsBeyondSize = 64;
// Before accepting again after accept failed, as it does when the process has no descriptor left.
constexpr std::chrono::milliseconds kAcceptPause{100};
// How many refusals are told in full. From then on a line says when they have doubled.
constexpr std::uint64_t kRefusalsTold = 8;
// For what PE 0 tells the members before it ends.
constexpr std::chrono::seconds kAbortPatience{2};

std::shared_ptr<const Bytes> shared(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

Error out_of_descriptors(std::uint32_t rank) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return Error(Code::exhausted,
               "PE 0, which hosts the bootstrap, has no file descriptor left for "
               "the connection of PE " +
                   std::to_string(rank) + ": it may have " + std::to_string(limit.rlim_cur) +
                   "; raise that (ulimit -n)");
}

}  // namespace

struct TcpHub::Guest {
  Guest(asio::io_context& io, asio::ip::tcp::socket socket)
      : stream(std::make_shared<TcpStream>(std::move(socket))), deadline(io) {}

  std::shared_ptr<TcpStream> stream;
  asio::steady_timer deadline;
  tcp_wire::Hello hello{};
  tcp_wire::Nonce nonce{};  // the hub's, for this guest
  tcp_wire::Proof proof{};
  bool waiting = true;  // for its handshake
  bool said_hello = false;
};

TcpHub::TcpHub(Settings settings)
    : settings_(std::move(settings)),
      members_(static_cast<std::size_t>(settings_.size)),
      round_(settings_.size) {}

Result<std::unique_ptr<TcpHub>> TcpHub::start(UniqueFileDescriptor listener, Settings settings) {
  try {
    std::unique_ptr<TcpHub> hub(new TcpHub(std::move(settings)));
    if (Result<void> listening = hub->listen(std::move(listener)); !listening) {
      return listening.error();
    }
    hub->accept();
    hub->thread_ = start_library_thread([raw = hub.get()] { raw->io_.run(); });
    return hub;
  } catch (const std::exception& exception) {
    return Error(Code::system,
                 std::string("the bootstrap's hub could not be started: ") + exception.what());
  }
}

Result<void> TcpHub::listen(UniqueFileDescriptor listener) {
  const Result<ListenerAddress> address = listener_address(listener.get());
  if (!address) return address.error();
  const bool v6 = address->family == AF_INET6;
  error_code error;
  acceptor_.assign(v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), listener.get(), error);
  if (error) return Error(Code::system, "listening socket: " + error.message(), error.value());
  listener.release();
  acceptor_.native_non_blocking(true, error);
  if (error) return Error(Code::system, "listening socket: " + error.message(), error.value());
  return {};
}

TcpHub::~TcpHub() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] { begin_stop(); });
  thread_.join();
}

// Guests.

// By accept4, so that no child of the program gets the connection: closed on exec from birth.
void TcpHub::accept() {
  acceptor_.async_wait(asio::ip::tcp::acceptor::wait_read, [this](const error_code& cancelled) {
    if (!cancelled && !stopping_) accept_waiting();
  });
}

void TcpHub::accept_waiting() {
  static_cast<void>(keep_spare());
  for (;;) {
    const int accepted = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    const int failed = accepted < 0 ? errno : 0;
    if (failed == 0) {
      // Before the next one comes in, the Hello of an earlier one is heard.
      greet(UniqueFileDescriptor(accepted));
      return accept();
    }
    if (failed == EINTR || failed == ECONNABORTED) continue;
    if (failed == EAGAIN) return accept();
    if ((failed == EMFILE || failed == ENFILE) && give_spare()) continue;
    if (!std::exchange(accept_failed_, true)) {
      settings_.log.warn(Error::from_errno("bootstrap: accept (see ulimit -n)", failed).message() +
                         "; tries again");
    }
    accept_timer_.expires_after(kAcceptPause);
    accept_timer_.async_wait([this](const error_code& cancelled) {
      if (!cancelled && !stopping_) accept_waiting();
    });
    return;
  }
}

bool TcpHub::keep_spare() {
  if (!spare_) spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return static_cast<bool>(spare_);
}

bool TcpHub::give_spare() {
  const bool given = static_cast<bool>(spare_);
  spare_.reset();
  return given;
}

void TcpHub::greet(UniqueFileDescriptor accepted) {
  error_code error;
  asio::ip::tcp::socket socket(io_);
  socket.assign(acceptor_.local_endpoint(error).protocol(), accepted.get(), error);
  if (error) return;
  accepted.release();
  const auto guest = std::make_shared<Guest>(io_, std::move(socket));
  guest->stream->bound_silence(settings_.peer_timeout);
  if (guests_.size() >= members_.size() + kGuestsBeyondSize) dismiss(least_promising());
  guests_.push_back(guest);
  guest->deadline.expires_after(std::min(settings_.timeout, kGuestPatience));
  guest->deadline.async_wait([this, guest](const error_code&) {
    if (guest->waiting) dismiss(guest);
  });
  hear(guest, &guest->hello, sizeof(guest->hello), &TcpHub::challenge);
}

// The oldest that has not said Hello, which a PE does at once; if all have, the oldest.
const std::shared_ptr<TcpHub::Guest>& TcpHub::least_promising() const {
  const auto silent =
      std::ranges::find_if(guests_, [](const auto& guest) { return !guest->said_hello; });
  return silent == guests_.end() ? guests_.front() : *silent;
}

void TcpHub::hear(const std::shared_ptr<Guest>& guest, void* to, std::size_t size,
                  void (TcpHub::*then)(const std::shared_ptr<Guest>&)) {
  guest->stream->read_raw(to, size, [this, guest, then](Result<void> read) {
    if (!guest->waiting) return;
    if (!read) return dismiss(guest);
    (this->*then)(guest);
  });
}

// It speaks this protocol: it may prove that it belongs to the job.
void TcpHub::challenge(const std::shared_ptr<Guest>& guest) {
  const tcp_wire::Hello& hello = guest->hello;
  guest->said_hello = true;
  if (hello.magic != tcp_wire::kMagic || hello.version != tcp_wire::kVersion) return admit(guest);
  guest->nonce = make_nonce();
  say_welcome(*guest->stream, Verdict::challenge);
  guest->stream->write(shared(tcp_wire::encode(guest->nonce)));
  hear(guest, &guest->proof, sizeof(guest->proof), &TcpHub::admit);
}

// It is no guest any more.
void TcpHub::settle(const std::shared_ptr<Guest>& guest) {
  guest->waiting = false;
  guest->deadline.cancel();
  guests_.remove(guest);
}

void TcpHub::say_welcome(TcpStream& stream, Verdict verdict) const {
  const tcp_wire::Welcome welcome{tcp_wire::kMagic, Be32(tcp_wire::kVersion),
                                  Be32(static_cast<std::uint32_t>(verdict)),
                                  Be32(static_cast<std::uint32_t>(members_.size())), Be32(0)};
  stream.write(shared(tcp_wire::encode(welcome)));
}

void TcpHub::dismiss(const std::shared_ptr<Guest>& guest) {
  const std::shared_ptr<Guest> keep = guest;  // may be an element of guests_
  settings_.log.info("bootstrap: closed a connection from " + keep->stream->peer_name() +
                     " that did not say who it is");
  keep->waiting = false;
  keep->deadline.cancel();
  keep->stream->close();
  guests_.remove(keep);
}

Verdict TcpHub::judge(const Guest& guest) const {
  const tcp_wire::Hello& hello = guest.hello;
  if (hello.version != tcp_wire::kVersion) return Verdict::wrong_version;
  const auto proof = make_proof(settings_.secret, ProofRole::member, hello, guest.nonce);
  if (!is_same(guest.proof, proof)) return Verdict::wrong_secret;
  if (hello.size != members_.size()) return Verdict::wrong_size;
  if (hello.rank >= members_.size()) return Verdict::rank_out_of_range;
  switch (members_[hello.rank].state) {
    case State::absent: return Verdict::accepted;
    case State::joined: return Verdict::duplicate_rank;
    case State::left: return Verdict::job_ending;
  }
  return Verdict::duplicate_rank;
}

void TcpHub::admit(const std::shared_ptr<Guest>& guest) {
  const tcp_wire::Hello& hello = guest->hello;
  const std::shared_ptr<TcpStream>& stream = guest->stream;
  settle(guest);
  if (hello.magic != tcp_wire::kMagic) {
    tell_refusal(stream->peer_name() + ": it does not speak this protocol");
    return stream->close();
  }
  Verdict verdict = judge(*guest);
  if (verdict == Verdict::accepted && !keep_spare()) verdict = Verdict::no_descriptors;
  say_welcome(*stream, verdict);
  if (verdict != Verdict::accepted) {
    const std::string text = stream->peer_name() + ", which says that it is PE " +
                             std::to_string(hello.rank) + ": " + tcp_wire::verdict_text(verdict);
    // A PE that begins the next job tries again until this one is over.
    verdict == Verdict::job_ending ? settings_.log.info("bootstrap: refused " + text)
                                   : tell_refusal(text);
    if (verdict == Verdict::no_descriptors) fail(out_of_descriptors(hello.rank));
    return stream->close_when_drained([] {});
  }
  stream->write(
      shared(tcp_wire::encode(make_proof(settings_.secret, ProofRole::hub, hello, guest->nonce))));
  const int rank = static_cast<int>(hello.rank);
  member(rank) = Member{State::joined, stream};
  if (failure_) {
    stream->write(shared(tcp_wire::encode_text(
        FrameType::failure, static_cast<std::uint32_t>(failure_->code()), failure_->message())));
  }
  read_next(rank);
}

void TcpHub::tell_refusal(const std::string& text) {
  ++refused_;
  if (refused_ <= kRefusalsTold) return settings_.log.warn("bootstrap: refused " + text);
  const bool doubled = (refused_ & (refused_ - 1)) == 0;
  if (!doubled) return;
  settings_.log.warn("bootstrap: refused " + std::to_string(refused_) +
                     " connections so far, the last one " + text);
}

// Members.

void TcpHub::read_next(int rank) {
  const std::uint64_t most = kMaxContributionBytes + sizeof(Be64) * members_.size();
  member(rank).stream->read_frame(most, [this, rank](Result<tcp_wire::Frame> frame) {
    if (stopping_ || member(rank).state != State::joined) return;
    if (!frame) return member_lost(rank, frame.error());
    handle(rank, std::move(*frame));
    if (member(rank).state == State::joined) read_next(rank);
  });
}

void TcpHub::handle(int rank, tcp_wire::Frame frame) {
  if (const auto call = tcp_wire::call_of(frame.header)) {
    return handle_call(rank, *call, frame.payload);
  }
  const std::uint32_t type = frame.header.type;
  if (type == static_cast<std::uint32_t>(FrameType::leave)) return member_left(rank);
  if (type == static_cast<std::uint32_t>(FrameType::abort)) {
    return member_aborts(rank, tcp_wire::decode_text(frame.payload));
  }
  member_lost(rank, Error(Code::invalid_argument,
                          "it sent a message of unknown type " + std::to_string(type)));
}

void TcpHub::handle_call(int rank, const CollectiveCall& call, const Bytes& payload) {
  if (failure_) return;  // every member has been told
  std::optional<std::vector<Bytes>> blobs = tcp_wire::decode_blobs(payload, members_.size());
  if (!blobs) {
    return member_lost(rank, Error(Code::invalid_argument, "it sent blobs of impossible lengths"));
  }
  // The completion of the last answer's write may not have been handled yet, nor those of what was
  // said of losses.
  if (member(rank).stream->unsent() > 1 + losses_told_) {
    return member_lost(rank, Error(Code::invalid_argument,
                                   "it came to " + describe(call) +
                                       " without reading the answers to its earlier calls"));
  }
  const bool first = round_.empty();
  if (Result<void> added = round_.add(rank, call, std::move(*blobs)); !added) {
    return fail(added.error());
  }
  if (first) wait_for_round(WaitLimit(clock_, settings_.timeout));
  if (round_.complete()) deliver();
}

void TcpHub::wait_for_round(const WaitLimit& limit) {
  round_timer_.expires_after(limit.rest());
  const std::uint64_t sequence = round_.call().sequence;
  round_timer_.async_wait([this, sequence, limit](const error_code& cancelled) {
    // The timer may have run out just before deliver() cancelled it.
    if (cancelled || round_.empty() || round_.call().sequence != sequence) return;
    if (!limit.passed()) return wait_for_round(limit);
    fail(round_.timed_out(settings_.timeout));
  });
}

void TcpHub::deliver() {
  round_timer_.cancel();
  if (const std::optional<Error> refusal = round_.refusal()) {
    tell(shared(tcp_wire::encode_text(
        FrameType::refusal, static_cast<std::uint32_t>(refusal->code()), refusal->message())));
    return round_.next();
  }
  const auto encode = [&](int rank) {
    return shared(tcp_wire::encode_answer(round_.call().sequence, round_.answer(rank)));
  };
  std::shared_ptr<const Bytes> bytes;
  for (int rank = 0; rank < settings_.size; ++rank) {
    if (!bytes || !round_.one_answer()) bytes = encode(rank);
    if (member(rank).state == State::joined) member(rank).stream->write(bytes);
  }
  all_have_joined_ = true;
  round_.next();
}

void TcpHub::member_left(int rank) {
  member(rank).state = State::left;
  std::exchange(member(rank).stream, nullptr)->close();
  // Kernels of the others may still wait for it.
  if (const auto loss = left_failed_job(rank, failure_)) {
    tell_loss(FrameType::ended_by, rank, loss->why);
  }
  if (Result<void> left = round_.leave(rank); !left) fail(left.error());
}

void TcpHub::member_lost(int rank, const Error& why) {
  member(rank).state = State::left;
  std::exchange(member(rank).stream, nullptr)->close();
  const std::string name = "PE " + std::to_string(rank);
  if (why.code() == Code::invalid_argument) {
    const std::string text = name + " broke the bootstrap's protocol: " + why.message();
    tell_loss(FrameType::ended_by, rank, text);
    return fail(Error(why.code(), text));
  }
  const std::string text = name + " is gone: " + why.message() + " before it left the job";
  const bool may_go_on = settings_.peer_loss == PeerLoss::go_on && all_have_joined_ && rank != 0;
  if (failure_ || !may_go_on) {
    tell_loss(FrameType::ended_by, rank, text);
    return fail(Error(Code::aborted, text));
  }
  tell_loss(FrameType::lost, rank, text);
  round_.lose(rank);
  if (!round_.empty() && round_.complete()) deliver();
}

void TcpHub::member_aborts(int rank, const std::string& message) {
  if (failure_) return;
  const Error error = aborted_by(rank, message);
  tell_loss(FrameType::ended_by, rank, error.message());
  fail(error);
}

void TcpHub::tell_loss(FrameType type, int rank, const std::string& why) {
  ++losses_told_;
  tell(shared(tcp_wire::encode_text(type, static_cast<std::uint32_t>(rank), why)));
}

void TcpHub::tell(const std::shared_ptr<const Bytes>& bytes) {
  for (const Member& m : members_) {
    if (m.state == State::joined) m.stream->write(bytes);
  }
}

void TcpHub::go_by(std::shared_ptr<const WaitClock> clock) {
  asio::post(io_, [this, clock = std::move(clock)] { clock_ = clock; });
}

void TcpHub::abort(const std::string& message) {
  const auto end = [this, message] { member_aborts(0, message); };
  asio::post(io_, asio::use_future(end)).wait_for(kAbortPatience);
}

void TcpHub::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  round_timer_.cancel();
  tell(shared(tcp_wire::encode_text(FrameType::failure, static_cast<std::uint32_t>(error.code()),
                                    error.message())));
}

// The end.

void TcpHub::begin_stop() {
  stopping_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  while (!guests_.empty()) dismiss(guests_.front());
  if (const auto loss = left_failed_job(0, failure_)) tell_loss(FrameType::ended_by, 0, loss->why);
  if (Result<void> left = round_.leave(0); !left) fail(left.error());
  fail(Error(Code::aborted, "PE 0, which hosts the bootstrap, has left the job"));
  // The answer of the last call may still be on its way to a slow member.
  stop_timer_.expires_after(settings_.timeout);
  stop_timer_.async_wait([this](const error_code&) { io_.stop(); });
  streams_to_close_ = 1;
  for (const Member& m : members_) {
    if (m.state != State::joined) continue;
    ++streams_to_close_;
    m.stream->close_when_drained([this] { stream_closed(); });
  }
  stream_closed();
}

void TcpHub::stream_closed() {
  if (--streams_to_close_ == 0) io_.stop();
}

}  // namespace gdakit
