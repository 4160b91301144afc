// Passes open file descriptors between the PEs of a host: how they map each other's memory.
//
//   auto exchange = HandleExchange::open(bootstrap, timeout);
//   auto given = (*exchange)->exchange(mine);           // given[pe]: the chunks that PE gave
//
// Each PE has a datagram socket in the abstract namespace. Its name, and a token that every message
// carries, come from the bootstrap, which only processes with the job's secret can join. A message
// without the token, of another user, cut short, or with a descriptor that did not arrive is
// dropped; the error of an exchange that times out says how many and why. Nobody needs rights over
// other processes (ptrace), and nothing is left in any file system.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit {

class HandleExchange {
 public:
  static constexpr std::size_t kMaxChunks = 1024;  // of one PE in one exchange

  // Collective. Fails on every PE if it fails on one. `group`: by rank, those that exchange with
  // this PE, itself included; each of them has the same group. Empty: all.
  static Result<std::unique_ptr<HandleExchange>> open(Bootstrap& bootstrap,
                                                      std::chrono::milliseconds timeout,
                                                      const std::vector<bool>& group = {});

  // Collective. Gives `mine` to every other PE of the group; returns what each gave, this PE and
  // those of other groups nothing. A PE may give none. Errors: PEs that did not come within the
  // timeout (timed_out), or have ended.
  Result<std::vector<std::vector<SharedChunk>>> exchange(const std::vector<SharedChunk>& mine);

  // The socket's name in the abstract namespace, and what messages begin with, for tests.
  const std::string& name() const { return peers_[static_cast<std::size_t>(rank_)].name; }
  using Token = std::array<std::uint8_t, 16>;
  const Token& token() const { return token_; }

 private:
  struct Received {
    std::uint32_t round;
    std::uint32_t count;  // how many that PE gives in this round
    SharedChunk chunk;
  };
  struct Peer {
    std::string name;
    pid_t process = 0;
    bool is_in_group = true;
    std::uint32_t sent = 0;       // messages of this round
    std::vector<Received> inbox;  // of this round, then of the next
  };

  HandleExchange(const Bootstrap& bootstrap, std::chrono::milliseconds timeout)
      : rank_(bootstrap.rank()), clock_(bootstrap.clock()), timeout_(timeout) {}

  std::size_t expected_messages(const std::vector<SharedChunk>& mine) const;
  Result<void> send_some(const std::vector<SharedChunk>& mine);
  void receive_some();
  bool receive_one();
  bool is_expected(std::uint32_t rank, std::uint32_t round, std::uint32_t count) const;
  bool complete(const Peer& peer) const;
  Error missing_peers() const;
  Result<void> check_alive() const;

  int rank_;
  std::shared_ptr<const WaitClock> clock_;
  std::chrono::milliseconds timeout_;
  UniqueFileDescriptor socket_;
  Token token_{};
  std::vector<Peer> peers_;  // by rank, this PE included
  std::uint32_t round_ = 0;
  bool out_of_descriptors_ = false;  // a PE of the job sent one that this process could not take
  std::uint32_t dropped_ = 0;
  std::string why_dropped_;  // the last one
};

}  // namespace gdakit
