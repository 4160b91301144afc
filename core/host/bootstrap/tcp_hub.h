// The hub of a TCP bootstrap: a thread of PE 0 to which every PE, PE 0 included, holds one
// connection.
//
//   PE 1 --.            .--> guests   have connected, have not yet said a good Hello
//   PE 2 ---- listener -+--> members  one for each rank: collective calls, leave, abort
//   PE 0 --'            '--> round    the call that the members are in (bootstrap_round.h)
//
// A connection counts for nothing before its handshake is good: a stranger that sends garbage, or
// nothing, is closed after a while and delays nobody. Where there are too many guests, those that
// have not said Hello make room first. The first failure (a member that died, or that calls again
// and reads no answers, calls that do not match, a timeout) is sent to all members at once and is
// final. With PeerLoss::go_on, once all have joined, a member that dies is none: the others are
// told who it is, and their calls go on without it.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/base/file_descriptor.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/base/wait_clock.h"
#include "core/host/bootstrap/bootstrap_round.h"
#include "core/host/bootstrap/tcp_stream.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "core/host/launch/launch_info.h"
#include "core/host/launch/tcp_listener.h"

namespace gdakit {

class TcpHub {
 public:
  struct Settings {
    int size = 1;
    JobSecret secret{};
    std::chrono::milliseconds timeout{60'000};
    Log log;
    std::chrono::milliseconds peer_timeout{20'000};  // of a host that does not answer
    PeerLoss peer_loss = PeerLoss::end;
  };

  // Serves on `listener`, a listening socket, until it is destroyed.
  static Result<std::unique_ptr<TcpHub>> start(UniqueFileDescriptor listener, Settings settings);

  // Sends what is under way, tells the members that PE 0 has left, and ends.
  ~TcpHub();

  // Timeouts of calls are by this clock from now on. Any thread may call.
  void go_by(std::shared_ptr<const WaitClock> clock);

  // PE 0 ends the job: returns once the members' sockets have the message. Any thread may call.
  void abort(const std::string& message);

 private:
  struct Guest;
  enum class State { absent, joined, left };
  struct Member {
    State state = State::absent;
    std::shared_ptr<TcpStream> stream;  // while joined
  };

  explicit TcpHub(Settings settings);
  Result<void> listen(UniqueFileDescriptor listener);

  void accept();
  void accept_waiting();
  bool give_spare();
  bool keep_spare();
  void greet(UniqueFileDescriptor accepted);
  const std::shared_ptr<Guest>& least_promising() const;
  void dismiss(const std::shared_ptr<Guest>& guest);
  // Reads the guest's next words into `to`; then it is asked, or judged.
  void hear(const std::shared_ptr<Guest>& guest, void* to, std::size_t size,
            void (TcpHub::*then)(const std::shared_ptr<Guest>&));
  void challenge(const std::shared_ptr<Guest>& guest);
  void settle(const std::shared_ptr<Guest>& guest);
  void say_welcome(TcpStream& stream, tcp_wire::Verdict verdict) const;
  void admit(const std::shared_ptr<Guest>& guest);
  // Warns of the first refusals one by one, and of more by their count, so that a stranger cannot
  // fill the log.
  void tell_refusal(const std::string& text);
  tcp_wire::Verdict judge(const Guest& guest) const;

  void read_next(int rank);
  void handle(int rank, tcp_wire::Frame frame);
  void handle_call(int rank, const CollectiveCall& call, const Bytes& payload);
  void wait_for_round(const WaitLimit& limit);
  void deliver();
  void member_left(int rank);
  void member_lost(int rank, const Error& why);
  void member_aborts(int rank, const std::string& message);
  // Tells all members that one is gone: lost or ended_by.
  void tell_loss(tcp_wire::FrameType type, int rank, const std::string& why);
  void tell(const std::shared_ptr<const Bytes>& bytes);
  void fail(const Error& error);
  void begin_stop();
  void stream_closed();

  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }

  const Settings settings_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  boost::asio::steady_timer accept_timer_{io_};
  boost::asio::steady_timer round_timer_{io_};
  boost::asio::steady_timer stop_timer_{io_};
  // Given up for a guest when no other descriptor is left, so that it can be told so.
  UniqueFileDescriptor spare_;
  std::list<std::shared_ptr<Guest>> guests_;
  std::vector<Member> members_;
  BootstrapRound round_;
  std::optional<Error> failure_;
  std::shared_ptr<const WaitClock> clock_;
  bool all_have_joined_ = false;
  std::size_t losses_told_ = 0;
  bool stopping_ = false;
  bool accept_failed_ = false;  // and was told of
  std::uint64_t refused_ = 0;
  int streams_to_close_ = 0;
  std::thread thread_;
};

}  // namespace gdakit
