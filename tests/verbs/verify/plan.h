// What the two ends of a verifying run send each other: both make the same plan from the same
// options, so that each knows what the other's messages hold without being told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

namespace gdakit::verify {

struct Options {
  std::string transport = "rc";  // rc, xrc, uc or ud
  std::string device;            // the first one if empty
  int gid = 1;                   // of RoCE
  int queues = 4;
  int rounds = 8;
  int depth = 12;                 // messages of a queue pair in a round, each way
  std::uint32_t longest = 65536;  // bytes of a message
  std::uint32_t path_mtu = 4096;
  std::uint64_t seed = 1;
  bool events = false;   // sleeps for completions
  bool shared = false;   // one shared receive queue, as XRC always has
  bool late = false;     // RC and XRC: receives are posted after the messages have gone out
  bool threads = false;  // both ends in one process
};

// Ends the program with status 2 if they make no sense.
Options read_options(int count, char** words);

// Of what sends.
ibv_qp_type type_of(const Options& options);

// The numbers that a seed gives, all alike on both sides.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(next() % limit); }
  bool chance(std::uint32_t in) { return below(in) == 0; }

 private:
  std::uint64_t state_;
};

std::uint64_t mixed(std::uint64_t value);

enum class Kind { send, send_imm, write, write_imm, read, add, count, swap };

std::string_view name_of(Kind kind);

// Where bytes lie in a slot: pieces with gaps between them. What is in no piece is guarded.
struct Piece {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};
using Pieces = std::vector<Piece>;

struct Message {
  Kind kind = Kind::send;
  std::uint64_t key = 0;  // says what its bytes are
  std::uint32_t length = 0;
  Pieces mine;    // at the end that posts it
  Pieces theirs;  // at the other end; one piece but of a send, which has them here, too
  bool may_inline = false;
  bool wants_completion = false;
  bool begins_list = false;  // of work requests that are posted by one call
  std::uint32_t immediate = 0;

  bool takes_receive() const {
    return kind == Kind::send || kind == Kind::send_imm || kind == Kind::write_imm;
  }
  bool has_immediate() const { return kind == Kind::send_imm || kind == Kind::write_imm; }
  bool is_atomic() const { return kind == Kind::add || kind == Kind::count || kind == Kind::swap; }
  bool is_send() const { return kind == Kind::send || kind == Kind::send_imm; }
  // Of atomics, on a word of its own: what it is before and after.
  std::uint64_t before() const { return mixed(key); }
  bool swap_succeeds() const { return (key & 1) != 0; }
  std::uint64_t after() const;
};

// The messages of one round that one end posts, those of queue pair q at q * depth.
std::vector<Message> plan_round(const Options& options, int side, int round);

// Bytes of a slot: room for the longest message, its gaps, and a guard at both ends.
std::uint32_t slot_bytes(const Options& options);

constexpr int kMostPieces = 4;
constexpr std::uint32_t kGrhBytes = 40;
constexpr std::uint32_t kWordBytes = 8;

}  // namespace gdakit::verify
