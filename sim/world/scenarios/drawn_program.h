// A program that an execution draws: what each PE does in some rounds, and what must lie where
// behind each of them. What is drawn has one right answer, whatever the schedule: nobody but PE w
// writes block w of an inbox, a place that is written is neither written nor read again before
// something orders the two, and what a PE offers others to read stays as it is during a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gdakit::sim::scenarios {

using DrawnWord = std::uint64_t;

inline constexpr std::uint32_t kDrawnWords = 10;  // of an array; a message takes eight
inline constexpr std::uint32_t kAsideWords = 8;   // of `own` that lie outside of the heap, too

// The arrays in the heap of each PE.
enum class Place : std::uint8_t {
  own,       // what the PE offers others to read: kDrawnWords
  inbox,     // kDrawnWords of each PE: block w is written by PE w
  got,       // what the PE has read elsewhere: kDrawnWords
  gathered,  // what a collective brings: kDrawnWords of each PE
  counters,  // number w is changed by atomics of PE w, and one more by additions of all
  signals,   // number w is changed by signals of PE w
};
inline constexpr std::size_t kDrawnPlaces = 6;
std::uint32_t words_of(Place place, std::uint32_t pes);

// Whose queue a step takes.
enum class Way : std::uint8_t { first, second, exclusive };

enum class Act : std::uint8_t {
  put,
  put_nbi,
  put_async,
  put_value,
  iput,
  put_signal,
  get,
  get_nbi,
  get_value,
  iget,
  signal,
  add,
  set,
  fetch_add,
  swap,
  compare_swap,
  add_for_all,  // to the counter that everyone adds to
  fence,
  quiet,
  refused,
};
inline constexpr std::uint32_t kActs = 20;

// What a call must say.
enum class Answer : std::uint8_t {
  ok,
  error,   // that the queue is broken
  either,  // it may have been posted before that was known
};

// Words on one side of a transfer: number i is word first + i * stride of its place.
struct Side {
  Place place = Place::own;
  std::uint32_t first = 0;
  std::int32_t stride = 1;

  std::uint32_t word(std::uint32_t i) const {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(first) +
                                      static_cast<std::int32_t>(i) * stride);
  }
};

struct Step {
  Act act = Act::quiet;
  Way way = Way::first;
  std::uint32_t pe = 0;
  Side remote, local;
  std::uint32_t count = 1;
  bool more = false;   // Batch::more
  bool aside = false;  // its source is the copy of `own` that lies outside of the heap
  bool adds = false;   // SignalOp::add
  DrawnWord value = 0;
  DrawnWord compared = 0;
  DrawnWord wanted = 0;  // what a fetch returns, if all is well
  Answer answer = Answer::ok;
  std::uint32_t number = 0;  // which call is refused
};

enum class Gathering : std::uint8_t {
  none,
  broadcast,
  fcollect,
  collect,
  alltoall,
  alltoalls,
  reduce,
  reduce_scatter,
};
inline constexpr std::uint32_t kGatherings = 8;

struct Collective {
  Gathering what = Gathering::none;
  std::int32_t team = 0;              // 0: of all PEs
  int root = 0;                       // its number in the team
  std::vector<std::uint32_t> counts;  // [member]; only those of collect differ
  std::int32_t stride = 1;            // of alltoalls, on both sides
  bool in_place = false;              // its source lies in its destination
  std::uint32_t refused = 0;          // not 0: which wrong call all make before it
};

using Memory = std::vector<std::vector<DrawnWord>>;  // [place][word]

enum class Meeting : std::uint8_t { barrier_all, quiet_and_sync, quiet_and_barrier };
inline constexpr std::uint32_t kMeetings = 3;

struct Round {
  std::vector<std::vector<Step>> steps;  // [pe]
  Answer quiet = Answer::ok;             // of PE 0's, behind them
  Meeting meeting = Meeting::barrier_all;
  Collective collective;
  std::vector<Memory> after;  // [pe]
};

// What a world's programs may contain.
struct DrawnShape {
  std::vector<std::vector<std::int32_t>> teams;  // of all PEs, and the world's others
  std::uint32_t rounds = 1;
  // Puts by one queue take effect as they were posted, and a get brings what they left.
  bool ordered = true;
  bool alone = true;           // one thread makes all calls, be it of a group or not
  std::uint32_t refusals = 0;  // how many wrong calls there are
  std::uint32_t refused_collectives = 0;
  // Whether PE 1, which does nothing, refuses all that the others ask of it. PEs then do not meet.
  bool breaks = false;

  std::uint32_t pes() const { return static_cast<std::uint32_t>(teams[0].size()); }
};

// What PE `pe` offers in a round, and what lies in `gathered` before.
DrawnWord own_word(std::uint32_t round, std::uint32_t pe, std::uint32_t index);
DrawnWord word_before(std::uint32_t round, std::uint32_t pe, std::uint32_t index);

std::vector<Round> draw_program(const DrawnShape& shape, std::uint64_t number);

}  // namespace gdakit::sim::scenarios
