// Frames over one socket, asynchronously: the hub has one for each connection, a member has one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include <boost/asio/ip/tcp.hpp>

#include "core/base/result.h"
#include "core/host/bootstrap/tcp_wire.h"

namespace gdakit {

// Used by the one thread that runs the socket's io_context. It keeps itself alive while an
// operation is under way.
class TcpStream : public std::enable_shared_from_this<TcpStream> {
 public:
  explicit TcpStream(boost::asio::ip::tcp::socket socket);

  // The connection breaks when the other host has not answered for so long, also while nobody sends
  // anything: up to a third later. By the system (tcp(7)): a process that is stopped still answers.
  void bound_silence(std::chrono::milliseconds limit);

  // Reads exactly `size` bytes into `to`, which must outlive the call of `done` or close().
  void read_raw(void* to, std::size_t size, std::function<void(Result<void>)> done);

  // Reads one frame. A frame that announces more than `most_bytes`, or than its type has, is an
  // error. It takes as much memory as has arrived of it, and a little more: a header alone is no
  // reason to reserve what it announces.
  void read_frame(std::uint64_t most_bytes, std::function<void(Result<tcp_wire::Frame>)> done);

  // Sends `bytes` after what was given before. An error is not reported here: the read fails too.
  void write(std::shared_ptr<const Bytes> bytes);

  // How many of the messages given to write() are not sent yet, or not in whole.
  std::size_t unsent() const { return unsent_.size(); }
  // Nothing is left to send, or it can no longer be sent.
  bool drained() const { return unsent_.empty(); }
  // Closes once drained() holds, and then calls `closed`.
  void close_when_drained(std::function<void()> closed);
  void close();

  // "10.0.0.7:40312", for messages.
  std::string peer_name() const;

 private:
  void read_payload(std::shared_ptr<tcp_wire::Frame> frame,
                    std::function<void(Result<tcp_wire::Frame>)> done);
  void write_front();
  void finish_if_drained();

  boost::asio::ip::tcp::socket socket_;
  tcp_wire::FrameHeader header_{};
  std::deque<std::shared_ptr<const Bytes>> unsent_;
  std::function<void()> when_drained_;
};

}  // namespace gdakit
