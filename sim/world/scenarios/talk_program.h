// Talks: programs that an execution draws, of players that tell each other at once what they have
// done, where those of drawn_program.h meet first. A player is a thread, or a group of threads; a
// PE has one or several, which share its queues. All steps are drawn in one order, in which what is
// told comes before who hears it, so that no player waits for one that waits for it. Nobody but
// player w writes row w of an inbox, and what it has told of it does not write again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gdakit::sim::scenarios {

inline constexpr std::uint32_t kRowBytes = 48;
inline constexpr std::uint32_t kDraftBytes = 32;  // of each of a player's two drafts
inline constexpr std::uint32_t kLetters = 4;      // that a player sends another one, at most
inline constexpr std::uint32_t kLetterBytes = 16;
inline constexpr std::uint32_t kTalkLocks = 2;

// Whose queue a step takes.
enum class TalkWay : std::uint8_t { first, second, exclusive, channel };

// Of which size elements are; those of three bytes need no alignment, those of sixteen that of a
// word.
enum class Element : std::uint8_t { one, two, four, eight, three, sixteen };
inline constexpr std::uint32_t kElements = 6;
std::uint32_t size_of(Element element);
std::uint32_t alignment_of(Element element);

enum class TalkAct : std::uint8_t {
  put,
  put_value,
  get,
  get_value,
  tell,  // by a word of the other player
  hear,  // wait for such words
  send,  // a message of a channel
  receive,
  change,  // an atomic without a result
  fetch,   // one with a result
  count,   // an addition to a word that all add to
  lock,    // an addition to a number that a lock guards
  fence,
  quiet,
  await,  // wait for a ticket
  meet,   // with the other PEs' players of the same number
};
inline constexpr std::uint32_t kTalkActs = 15;  // that a player does without others

enum class Form : std::uint8_t { elements, bytes, strided };
enum class Ending : std::uint8_t { blocking, nbi, async };
enum class Source : std::uint8_t { own, draft, aside };  // aside: a draft outside of the heap
enum class Telling : std::uint8_t { put_signal, signal, put_value, add };
inline constexpr std::uint32_t kTellings = 4;
enum class Hearing : std::uint8_t {
  wait_until,
  wait_until_all,
  wait_until_all_vector,
  wait_until_any,
  wait_until_any_vector,
  wait_until_some,
  wait_until_some_vector,
  signal_wait_until,
  signal_fetch,  // until it holds, as the others that follow
  test,
  test_all,
  test_all_vector,
  test_any,
  test_any_vector,
  test_some,
  test_some_vector,
};
inline constexpr std::uint32_t kHearings = 16;
enum class TalkMeeting : std::uint8_t { barrier, sync, broadcast, fcollect, alltoall, reduce };
inline constexpr std::uint32_t kTalkMeetings = 6;
inline constexpr std::uint32_t kMetWords = 2;  // that a member gives another one, at most
enum class Change : std::uint8_t { add, inc, set, bit_and, bit_or, bit_xor, compare_swap, fetch };
inline constexpr std::uint32_t kPlainChanges = 6;  // those that there are without a result
inline constexpr std::uint32_t kFetchChanges = 8;

// A byte that must lie at this offset.
using Expected = std::vector<std::pair<std::uint32_t, std::uint8_t>>;

// What one player has told another one.
struct Told {
  std::uint64_t value = 0;  // the word has this value then, or a later one
  Expected row;             // what then lies in the teller's row
};

struct TalkStep {
  TalkAct act = TalkAct::quiet;
  TalkWay way = TalkWay::first;
  std::uint32_t pe = 0;
  std::uint32_t player = 0;  // of that PE, who is told
  bool more = false;         // Batch::more
  std::uint32_t scribe = 0;  // the thread of the group, modulo their number, that reads and writes
  Ending ending = Ending::blocking;

  // put, get: byte i of element n lies at `remote` + n * stride * its size + i of the row
  Form form = Form::elements;
  Element element = Element::one;
  std::uint32_t remote = 0, local = 0;
  std::int32_t remote_stride = 1, local_stride = 1;
  std::uint32_t count = 0;
  Source source = Source::own;
  std::vector<std::uint8_t> draft;  // what is written to the source before
  bool of_inbox = false;            // a get reads the player's row there
  bool nowhere = false;             // nothing moves, between null pointers

  Expected got;              // what has come to the player's `got` when the step is done
  Expected own_row;          // what it has put to its own PE and now finds there
  std::uint32_t ticket = 0;  // of those that the player has: what `await` waits for
  bool by_test = false;      // by looking again and again

  std::uint64_t value = 0;
  std::uint64_t compared = 0;
  std::uint64_t wanted = 0;  // what a fetch returns
  Change change = Change::add;
  bool narrow = false;  // a word of 4 bytes

  Telling telling = Telling::put_signal;
  bool adds = false;  // SignalOp::add
  Hearing hearing = Hearing::wait_until;
  bool above = false;                                // by Compare::gt, and not ge
  std::vector<std::pair<std::uint32_t, Told>> told;  // by whom: what a step hears

  bool is_put = false;  // put_with_immediate, and no send
  bool of_any = false;  // a receive is of any PE
  std::uint32_t lock = 0;

  // meet: `count` words from `local` of own on, after a quiet; then all have what `told` says
  TalkMeeting meeting = TalkMeeting::sync;
  std::uint32_t root = 0;              // by rank
  std::vector<std::uint64_t> brought;  // to this player
};

// A message, as the one who receives it finds it.
struct Letter {
  bool is_put = false;
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;
  Expected bytes;  // in the letter, or of a put in the sender's row
};

// What lies where in the end, by PE.
struct TalkMemory {
  std::vector<std::uint8_t> inbox;      // [player of the job][kRowBytes]
  std::vector<std::uint64_t> words;     // [player][player of the job]: whom others tell, and who
  std::vector<std::uint64_t> counters;  // [player of the job][2]: of 8 and of 4 bytes; and of all
  std::vector<std::uint64_t> guarded;   // [kTalkLocks]
};

struct Talk {
  std::vector<std::vector<TalkStep>> steps;  // [player of the job]
  // [player of the job][sender's PE], in order
  std::vector<std::vector<std::vector<Letter>>> letters;
  std::vector<TalkMemory> memory;  // [PE], in the end
};

// What a world's talks may contain.
struct TalkShape {
  std::uint32_t pes = 2;
  std::uint32_t players = 1;  // of a PE
  std::uint32_t steps = 5;    // of a player, about
  bool alone = true;          // a player is one thread
  bool direct = false;        // some PEs are reached otherwise than by NICs
  bool directly = false;      // all of them, by all that is no channel
  bool partly = false;        // the last one through its NIC alone: nobody else's memory is changed
                              // by NICs and then read directly by a third one
  bool placed = false;        // puts are placed in any order
  bool word_queues = false;   // atomics may take another queue than puts
  std::uint32_t meetings = 0;  // of players of the same number, at most

  std::uint32_t all() const { return pes * players; }
};

// What a PE offers others to read, kRowBytes.
std::uint8_t own_byte(std::uint32_t pe, std::uint32_t at);

Talk draw_talk(const TalkShape& shape, std::uint64_t number);

}  // namespace gdakit::sim::scenarios
