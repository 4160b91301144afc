#include "core/host/bootstrap/tcp_stream.h"

#include <algorithm>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace gdakit {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Of a payload, in one read.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

Error read_error(const error_code& error) {
  if (error == asio::error::eof) return Error(Code::system, "the connection was closed");
  return Error(Code::system, "the connection broke: " + error.message(), error.value());
}

}  // namespace

TcpStream::TcpStream(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
  // Frames are small and each one is waited for. A socket that refuses that still works.
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

// Once a third of the limit has passed without a word the system asks, and asks again after
// another.
void TcpStream::bound_silence(std::chrono::milliseconds limit) {
  namespace option = asio::detail::socket_option;
  const auto limit_ms = static_cast<int>(std::min<std::int64_t>(limit.count(), 1'000'000'000));
  const int seconds_between = std::max(1, limit_ms / 3000);
  error_code ignored;
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.set_option(option::integer<IPPROTO_TCP, TCP_KEEPIDLE>(seconds_between), ignored);
  socket_.set_option(option::integer<IPPROTO_TCP, TCP_KEEPINTVL>(seconds_between), ignored);
  socket_.set_option(option::integer<IPPROTO_TCP, TCP_KEEPCNT>(3), ignored);
  socket_.set_option(option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>(limit_ms), ignored);
}

void TcpStream::read_raw(void* to, std::size_t size, std::function<void(Result<void>)> done) {
  asio::async_read(
      socket_, asio::buffer(to, size),
      [self = shared_from_this(), done = std::move(done)](const error_code& error, std::size_t) {
        done(error ? Result<void>(read_error(error)) : Result<void>());
      });
}

void TcpStream::read_frame(std::uint64_t most_bytes,
                           std::function<void(Result<tcp_wire::Frame>)> done) {
  read_raw(&header_, sizeof(header_), [this, most_bytes, done](Result<void> read) {
    if (!read) return done(read.error());
    const std::uint64_t most = std::min(most_bytes, tcp_wire::longest_payload(header_));
    if (header_.length > most) {
      return done(Error(Code::invalid_argument,
                        "it sent a message of " + std::to_string(header_.length) +
                            " bytes where at most " + std::to_string(most) + " are allowed"));
    }
    const auto frame = std::make_shared<tcp_wire::Frame>();
    frame->header = header_;
    read_payload(frame, done);
  });
}

void TcpStream::read_payload(std::shared_ptr<tcp_wire::Frame> frame,
                             std::function<void(Result<tcp_wire::Frame>)> done) {
  const std::uint64_t length = frame->header.length;
  const std::size_t before = frame->payload.size();
  const std::size_t piece = std::min(length - before, kPieceBytes);
  frame->payload.resize(before + piece);
  read_raw(frame->payload.data() + before, piece, [this, frame, done](Result<void> read) {
    if (!read) return done(read.error());
    if (frame->payload.size() != frame->header.length) return read_payload(frame, done);
    done(std::move(*frame));
  });
}

void TcpStream::write(std::shared_ptr<const Bytes> bytes) {
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() == 1) write_front();
}

void TcpStream::write_front() {
  asio::async_write(socket_, asio::buffer(*unsent_.front()),
                    [this, self = shared_from_this()](const error_code& error, std::size_t) {
                      if (error) {
                        unsent_.clear();
                      } else {
                        unsent_.pop_front();
                      }
                      if (!unsent_.empty()) return write_front();
                      finish_if_drained();
                    });
}

void TcpStream::close_when_drained(std::function<void()> closed) {
  when_drained_ = std::move(closed);
  finish_if_drained();
}

void TcpStream::finish_if_drained() {
  if (!when_drained_ || !drained()) return;
  close();
  std::exchange(when_drained_, nullptr)();
}

void TcpStream::close() {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
}

std::string TcpStream::peer_name() const {
  error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (error) return "an unknown address";
  return peer.address().to_string() + ":" + std::to_string(peer.port());
}

}  // namespace gdakit
