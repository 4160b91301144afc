#include "core/host/bootstrap/tcp_bootstrap.h"

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

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

std::shared_ptr<const Bytes> text_frame(FrameType type, const std::string& text) {
  return std::make_shared<const Bytes>(tcp_wire::encode_text(type, 0, text));
}

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap(const LaunchInfo& info, Log log)
      : Bootstrap(info.rank, info.size, info.local_rank), info_(info), log_(log) {}
  ~TcpBootstrap() override;

  Result<void> open();
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
};

Result<ListenerAddress> TcpBootstrap::start_hub() {
  Result<UniqueFileDescriptor> listener = info_.listen_fd
                                              ? adopt_listener(*info_.listen_fd)
                                              : open_listener(info_.root_host, info_.root_port);
  if (!listener) return listener.error();
  const Result<ListenerAddress> address = listener_address(listener->get());
  if (!address) return address.error();
  Result<std::unique_ptr<TcpHub>> hub =
      TcpHub::start(std::move(*listener), {info_.size, info_.secret, info_.timeout, log_});
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
  struct Rest {
    std::byte byte{};
    bool closed = false;
    std::function<void()> read;
  };
  const auto rest = std::make_shared<Rest>();
  rest->read = [stream = stream_, weak = std::weak_ptr(rest)] {
    const auto self = weak.lock();
    stream->read_raw(&self->byte, 1, [self](Result<void> read) {
      self->closed = !read;
      if (read) self->read();
    });
  };
  rest->read();
  run_until(io_, BootstrapClock::now() + kFarewellPatience, [&] { return rest->closed; });
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

Result<Frame> TcpBootstrap::read_frame(const CollectiveCall& call) {
  const WaitLimit limit(clock(), info_.timeout + kAnswerGrace);
  const std::uint64_t most =
      static_cast<std::uint64_t>(size()) * (kMaxContributionBytes + sizeof(Be64));
  const auto frame = std::make_shared<std::optional<Result<Frame>>>();
  stream_->read_frame(most, [frame](Result<Frame> read) { frame->emplace(std::move(read)); });
  const auto arrived = [&] { return frame->has_value(); };
  while (!run_until(io_, BootstrapClock::now() + limit.rest(), arrived)) {
    if (!limit.passed()) continue;
    return Error(Code::timed_out, std::string(collective_name(call.kind)) + " timed out after " +
                                      seconds_text(info_.timeout) +
                                      ": no answer from PE 0, which hosts the bootstrap");
  }
  if (**frame) return std::move(***frame);
  return Error(Code::aborted, std::string(collective_name(call.kind)) +
                                  " failed: PE 0, which hosts the bootstrap, is gone: " +
                                  (*frame)->error().message());
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
  if (type == static_cast<std::uint32_t>(FrameType::failure)) {
    return give_up(tcp_wire::decode_failure(*frame));
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
