#include "core/host/bootstrap/tcp_bootstrap.h"

#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "core/base/assert.h"
#include "core/base/seconds_text.h"
#include "core/host/bootstrap/bootstrap_round.h"
#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_hub.h"
#include "core/host/bootstrap/tcp_join.h"
#include "core/host/bootstrap/tcp_stream.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "core/host/launch/tcp_listener.h"

namespace gdakit {
namespace {

using namespace std::chrono_literals;
using tcp_wire::Frame;
using tcp_wire::FrameType;

// The hub's own timeout comes first, because only the hub knows who is missing. A member that has
// waited this much longer knows that the hub itself is stuck.
constexpr std::chrono::seconds kAnswerGrace{2};
// For a farewell or an abort to be handed to the system.
constexpr std::chrono::seconds kFarewellPatience{2};

std::size_t answer_blobs(CollectiveKind kind, int size) {
  switch (kind) {
    case CollectiveKind::join:
    case CollectiveKind::barrier: return 0;
    case CollectiveKind::broadcast: return 1;
    case CollectiveKind::allgather:
    case CollectiveKind::alltoall: break;
  }
  return static_cast<std::size_t>(size);
}

bool is_failure(const Result<Frame>& frame) {
  return frame && frame->header.type == static_cast<std::uint32_t>(FrameType::failure);
}

std::string hub_is_gone(const Error& why) {
  return "PE 0, which hosts the bootstrap, is gone: " + why.message();
}

std::shared_ptr<const Bytes> text_frame(FrameType type, const std::string& text) {
  return std::make_shared<const Bytes>(tcp_wire::encode_text(type, 0, text));
}

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap(const LaunchInfo& info, Log log)
      : Bootstrap(info.rank, info.size, info.local_rank), info_(info), log_(log) {}
  ~TcpBootstrap() override;

  Result<void> open();
  std::vector<LostPe> take_losses() override;
  void go_by(std::shared_ptr<const WaitClock> clock) override;
  std::optional<JobKey> key(std::string_view label) const override {
    if (info_.secret_is_derived) return {};
    return make_job_key(info_.secret, label);
  }

 private:
  Result<ListenerAddress> start_hub();
  Result<std::vector<Bytes>> exchange(const CollectiveCall& call,
                                      std::vector<Bytes> blobs) override;
  void send_abort(const std::string& message) override;

  void read_next();
  void take(Result<Frame> frame);
  void note_loss(LostPe loss);
  void note_hub_lost(const Error& why);
  Result<Frame> read_frame(const CollectiveCall& call);
  Error give_up(Error error);
  void send_text(FrameType type, const std::string& text);
  void wait_until_closed();

  const LaunchInfo info_;
  const Log log_;
  std::unique_ptr<TcpHub> hub_;  // in PE 0
  std::mutex calling_;           // held by the thread that runs io_
  boost::asio::io_context io_{1};
  std::shared_ptr<TcpStream> stream_;  // none before open() and after a failure
  // What has come and no call has taken. While there is nothing, or the job has failed, a read is
  // under way, so that what the hub says between calls is heard.
  std::optional<Result<Frame>> arrived_;
  bool reading_ = false;
  bool closed_ = false;      // the last read failed
  bool has_failed_ = false;  // the hub has said so: no call will be answered any more
  bool hub_is_lost_ = false;
  std::mutex losses_mutex_;  // of what follows
  std::vector<LostPe> losses_;
};

Result<ListenerAddress> TcpBootstrap::start_hub() {
  Result<UniqueFileDescriptor> listener = info_.listen_fd
                                              ? adopt_listener(*info_.listen_fd)
                                              : open_listener(info_.root_host, info_.root_port);
  if (!listener) return listener.error();
  const Result<ListenerAddress> address = listener_address(listener->get());
  if (!address) return address.error();
  Result<std::unique_ptr<TcpHub>> hub = TcpHub::start(
      std::move(*listener),
      {info_.size, info_.secret, info_.timeout, log_, info_.peer_timeout, info_.peer_loss});
  if (!hub) return hub.error();
  hub_ = std::move(*hub);
  return *address;
}

Result<void> TcpBootstrap::open() {
  ListenerAddress address{info_.root_host, info_.root_port};
  if (rank() == 0) {
    const Result<ListenerAddress> own = start_hub();
    if (!own) return own.error();
    address = *own;
  }
  Result<std::shared_ptr<TcpStream>> stream = join_hub(io_, info_, address.host, address.port);
  if (!stream) return stream.error();
  stream_ = std::move(*stream);
  stream_->bound_silence(info_.peer_timeout);
  read_next();
  const Result<std::vector<Bytes>> joined = collective(CollectiveKind::join, 0, {});
  if (!joined) return joined.error();
  log_.debug("bootstrap: joined a job of " + std::to_string(size()) + " PEs at " + address.host +
             ":" + std::to_string(address.port));
  return {};
}

void TcpBootstrap::go_by(std::shared_ptr<const WaitClock> clock) {
  if (hub_) hub_->go_by(clock);
  Bootstrap::go_by(std::move(clock));
}

TcpBootstrap::~TcpBootstrap() {
  if (stream_) {
    send_text(FrameType::leave, "");
    wait_until_closed();
    stream_->close();
  }
}

// The hub closes the connection when it has heard the farewell. Before, this process must not begin
// the next job: its greeting goes another way and could arrive first.
void TcpBootstrap::wait_until_closed() {
  const auto deadline = BootstrapClock::now() + kFarewellPatience;
  do {
    if (!reading_ && !closed_) read_next();
  } while (run_until(io_, deadline, [&] { return !reading_; }) && !closed_);
}

void TcpBootstrap::send_text(FrameType type, const std::string& text) {
  stream_->write(text_frame(type, text));
  run_until(io_, BootstrapClock::now() + kFarewellPatience, [&] { return stream_->drained(); });
}

// Another thread than the one that is in a collective call may end the job. That one then sends the
// message, unless its call ends before.
void TcpBootstrap::send_abort(const std::string& message) {
  if (hub_) return hub_->abort(message);
  const auto write = [this, message] {
    if (stream_) stream_->write(text_frame(FrameType::abort, message));
  };
  const std::future<void> written = boost::asio::post(io_, boost::asio::use_future(write));
  const auto is_written = [&](std::chrono::milliseconds patience) {
    return written.wait_for(patience) == std::future_status::ready;
  };
  const auto deadline = BootstrapClock::now() + kFarewellPatience;
  do {
    if (const std::unique_lock idle(calling_, std::try_to_lock); idle) {
      run_until(io_, deadline, [&] { return is_written(0ms) && (!stream_ || stream_->drained()); });
      return;
    }
  } while (!is_written(10ms) && BootstrapClock::now() < deadline);
}

// Ends this member's part: what is half sent or half read cannot be taken up again.
Error TcpBootstrap::give_up(Error error) {
  stream_->close();
  stream_.reset();
  return error;
}

void TcpBootstrap::read_next() {
  GDAKIT_ASSERT(!reading_);
  reading_ = true;
  const std::uint64_t most =
      static_cast<std::uint64_t>(size()) * (kMaxContributionBytes + sizeof(Be64));
  stream_->read_frame(most, [this](Result<Frame> frame) { take(std::move(frame)); });
}

void TcpBootstrap::take(Result<Frame> frame) {
  reading_ = false;
  closed_ = !frame;
  const std::uint32_t type = frame ? std::uint32_t{frame->header.type} : 0;
  const bool ends_job = type == static_cast<std::uint32_t>(FrameType::ended_by);
  if (ends_job || type == static_cast<std::uint32_t>(FrameType::lost)) {
    const int pe = static_cast<int>(frame->header.detail);
    note_loss({pe, tcp_wire::decode_text(frame->payload), ends_job});
    if (stream_) read_next();
    return;
  }
  has_failed_ = has_failed_ || is_failure(frame);
  if (!arrived_) arrived_.emplace(std::move(frame));
  if (has_failed_ && !closed_ && stream_) read_next();
}

void TcpBootstrap::note_loss(LostPe loss) {
  if (loss.pe < 0 || loss.pe >= size() || loss.pe == rank()) return;
  const std::lock_guard lock(losses_mutex_);
  losses_.push_back(std::move(loss));
}

// In a job that has failed PE 0 leaves without another word.
void TcpBootstrap::note_hub_lost(const Error& why) {
  if (has_failed_ || std::exchange(hub_is_lost_, true)) return;
  note_loss({0, hub_is_gone(why), true});
}

// Where a call is under way, its thread hears what comes.
std::vector<LostPe> TcpBootstrap::take_losses() {
  if (const std::unique_lock idle(calling_, std::try_to_lock); idle && stream_) {
    io_.restart();
    io_.poll();
    if (arrived_ && !*arrived_) note_hub_lost(arrived_->error());
  }
  const std::lock_guard lock(losses_mutex_);
  return std::exchange(losses_, {});
}

Result<Frame> TcpBootstrap::read_frame(const CollectiveCall& call) {
  const WaitLimit limit(clock(), info_.timeout + kAnswerGrace);
  const auto arrived = [&] { return arrived_.has_value(); };
  while (!run_until(io_, BootstrapClock::now() + limit.rest(), arrived)) {
    if (!limit.passed()) continue;
    return Error(Code::timed_out, std::string(collective_name(call.kind)) + " timed out after " +
                                      seconds_text(info_.timeout) +
                                      ": no answer from PE 0, which hosts the bootstrap");
  }
  Result<Frame> frame = *std::exchange(arrived_, std::nullopt);
  if (frame) {
    if (!reading_) read_next();
    return frame;
  }
  note_hub_lost(frame.error());
  return Error(Code::aborted,
               std::string(collective_name(call.kind)) + " failed: " + hub_is_gone(frame.error()));
}

Result<std::vector<Bytes>> TcpBootstrap::exchange(const CollectiveCall& call,
                                                  std::vector<Bytes> blobs) {
  const std::lock_guard calling(calling_);
  if (!stream_) return Error(Code::aborted, "this PE's bootstrap has ended");
  const std::vector<std::span<const std::byte>> spans(blobs.begin(), blobs.end());
  stream_->write(std::make_shared<const Bytes>(tcp_wire::encode_call(call, spans)));
  Result<Frame> frame = read_frame(call);
  if (!frame) return give_up(frame.error());
  const std::uint32_t type = frame->header.type;
  // All later calls fail likewise. The connection stays: there is more to hear, and to say.
  if (is_failure(frame)) return tcp_wire::decode_failure(*frame);
  if (type == static_cast<std::uint32_t>(FrameType::refusal)) {
    return tcp_wire::decode_failure(*frame);
  }
  const std::size_t expected = answer_blobs(call.kind, size());
  auto answer = tcp_wire::decode_blobs(frame->payload, expected);
  if (type != static_cast<std::uint32_t>(FrameType::answer) ||
      frame->header.sequence != call.sequence || !answer || answer->size() != expected) {
    return give_up(Error(Code::internal, "PE 0 sent what does not answer " + describe(call)));
  }
  return std::move(*answer);
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(const LaunchInfo& info, Log log) {
  if (info.size < 1 || info.rank < 0 || info.rank >= info.size) {
    return Error(Code::invalid_argument, "PE " + std::to_string(info.rank) + " of " +
                                             std::to_string(info.size) + " is not possible");
  }
  try {
    auto bootstrap = std::make_unique<TcpBootstrap>(info, log);
    if (Result<void> opened = bootstrap->open(); !opened) return opened.error();
    return std::unique_ptr<Bootstrap>(std::move(bootstrap));
  } catch (const std::exception& exception) {
    return Error(Code::system,
                 std::string("the bootstrap could not be opened: ") + exception.what());
  }
}

}  // namespace gdakit
