// What the host says of an operation that was refused: which argument, and what to do.
#include <string>
#include <vector>

#include "core/base/hex.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;

constexpr std::size_t kRegistered = 64;

struct Memory {
  std::uint64_t* word;  // in the symmetric heap
  int* stranger;        // neither there nor registered
  int* registered;      // kRegistered of them
};

// By a number, so that one kernel has them all.
enum Misuse {
  put_from_stranger,
  put_to_stranger,
  get_to_stranger,
  strided_from_stranger,
  strided_to_stranger,
  strided_beyond_buffer,
  strided_for_ever,
  signal_from_stranger,
  fetch_to_stranger,
  broadcast_from_stranger,
  no_pe,
  no_pe_far_below,
  no_pe_just_below,
  no_queue,
  shared_as_exclusive,
  unaligned,
  stride_of_0,
  too_many,
  no_root,
  no_team,
  bad_ticket,
  lock_not_held,
  put_beyond_heap,
};

constexpr std::ptrdiff_t kFar = std::ptrdiff_t{1} << 60;

struct Misused {
  Memory memory;
  int which;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto* const ints = reinterpret_cast<int*>(memory.word);
    auto* const strange_word = reinterpret_cast<std::uint64_t*>(memory.stranger);
    auto* const skewed = reinterpret_cast<std::uint64_t*>(ints + 1);
    switch (which) {
      case put_from_stranger: pe.put(ints, memory.stranger, 4, 0); break;
      case put_to_stranger: pe.put(memory.stranger, ints, 4, 0); break;
      case get_to_stranger: pe.get(memory.stranger, ints, 4, 0); break;
      case strided_from_stranger: pe.iput(ints, memory.stranger, 2, 2, 4, 0); break;
      case strided_to_stranger: pe.iput(memory.stranger, ints, 2, 2, 4, 0); break;
      case strided_beyond_buffer: pe.iput(ints, memory.registered, 1, 2, kRegistered, 0); break;
      case strided_for_ever: pe.iput(ints, ints, kFar, 2, 9, 0); break;
      case signal_from_stranger:
        pe.put_signal(ints, memory.stranger, 4, memory.word + 8, 1, SignalOp::set, 0);
        break;
      case fetch_to_stranger: pe.atomic_fetch_inc_nbi(strange_word, memory.word, 0); break;
      case broadcast_from_stranger:
        pe.team(kTeamWorld).broadcast(ints, memory.stranger, 4, 0);
        break;
      case no_pe: pe.put_value(ints, 1, 7); break;
      case no_pe_far_below: pe.put_value(ints, 1, -0x7fffffff); break;
      case no_pe_just_below: pe.get_value(ints, -1); break;
      case no_queue: pe.on_queue(99).put_value(ints, 1, 0); break;
      case shared_as_exclusive: pe.exclusively_on(0).put_value(ints, 1, 0); break;
      case unaligned: pe.atomic_add(skewed, std::uint64_t{1}, 0); break;
      case stride_of_0: pe.iput(ints, ints + 8, 0, 1, 4, 0); break;
      case too_many: pe.team(kTeamWorld).broadcast(ints, ints, ~std::size_t{0} / 2, 0); break;
      case no_root: pe.team(kTeamWorld).broadcast(ints, ints, 4, 1); break;
      case no_team: pe.team(Team{17}).sync(); break;
      case bad_ticket: pe.wait(Ticket{99, 0, 1, {}}); break;
      case put_beyond_heap:
        pe.put_bytes(memory.word + 1, memory.word, static_cast<std::size_t>(kFar), 0);
        break;
      case lock_not_held: pe.clear_lock(reinterpret_cast<Lock*>(memory.word)); break;
    }
  }
};

std::string hex(const void* address) {
  return hex_number(reinterpret_cast<std::uintptr_t>(address));
}

struct Case {
  Misuse which;
  std::string operation;
  std::string says;
};

std::vector<Case> cases(const Memory& memory) {
  const std::string stranger = " at address " + hex(memory.stranger);
  const std::string local = stranger + " of this PE are neither in the symmetric heap nor";
  const std::string remote = stranger + " are not in the symmetric heap";
  const std::string named = "'word' (512 bytes) [" + hex(memory.word) + "]";
  return {
      {put_from_stranger, "put", "16 bytes" + local},
      {put_to_stranger, "put", "16 bytes" + remote},
      {get_to_stranger, "get", "16 bytes" + local},
      {strided_from_stranger, "put",
       "not all of this PE's elements of 4 bytes" + stranger + " and on"},
      {strided_to_stranger, "put",
       "not all of the elements of 4 bytes" + stranger + " and on are in"},
      {strided_beyond_buffer, "put",
       "not all of this PE's elements of 4 bytes at address " + hex(memory.registered) +
           " and on are"},
      {strided_for_ever, "put", "not all of the elements of 4 bytes at " + named},
      {signal_from_stranger, "put_signal", "16 bytes" + local},
      {fetch_to_stranger, "an atomic or a signal", "8 bytes" + local},
      {broadcast_from_stranger, "a collective", "16 bytes" + local},
      {no_pe, "put", "there is no PE 7"},
      {no_pe_far_below, "put", "there is no PE -2147483647"},
      {no_pe_just_below, "get", "there is no PE -1"},
      {no_queue, "put", "GDAKIT_QUEUES_PER_PEER"},
      {shared_as_exclusive, "put", "the other sharing"},
      {unaligned, "an atomic or a signal", "is not aligned to its size"},
      {stride_of_0, "put", "a stride other than 0"},
      {too_many, "a collective", "so many elements as were to go to " + named},
      {no_root, "a collective", "the root is none of the team's members"},
      {no_team, "a collective", "this PE is in no such team"},
      {bad_ticket, "wait or test, of a ticket,", "the ticket names no queue"},
      {put_beyond_heap, "put",
       std::to_string(kFar) + " bytes at 'word' (512 bytes) + 8 [" + hex(memory.word + 1) +
           "] are not all in the symmetric heap: the object ends after 504 "
           "of them"},
      {lock_not_held, "an operation on a lock", "does not hold the lock at " + named},
  };
}

// Collectives and locks are at no other PE.
std::string peer_of(const Case& expected) {
  if (expected.operation == "a collective" || expected.which == lock_not_held) return "";
  if (expected.which == no_pe_far_below || expected.which == no_pe_just_below) return "";
  return expected.which == no_pe ? ", peer PE 7" : ", peer PE 0";
}

Result<void> check(Context& c, const Memory& memory, const Case& expected) {
  const Result<void> ran = c.launch(Misused{memory, expected.which}, {.blocks = 1, .threads = 1});
  const std::string begin = "PE 0 called " + expected.operation +
                            " with a bad argument (block 0, " + "thread 0" + peer_of(expected) +
                            "): ";
  c.clear_reports();
  if (ran) return mismatch("misuse " + std::to_string(expected.which) + " was not reported");
  const std::string& text = ran.error().message();
  const bool says = text.find(expected.says) != std::string::npos && text.find(begin) == 0;
  return says ? Result<void>()
              : mismatch("misuse " + std::to_string(expected.which) + ": \"" + text +
                         "\" instead of \"" + begin + "..." + expected.says + "\"");
}

TEST(FaultReports, NameTheArgumentAndTheRemedy) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const Result<std::uint64_t*> word = c.allocate<std::uint64_t>(64, "word");
    if (!word) return word.error();
    std::vector<int> stranger(64, -1);
    std::vector<int> registered(kRegistered, -1);
    if (auto done = c.register_buffer(registered.data(), sizeof(int) * kRegistered); !done) {
      return done;
    }
    const Memory memory{*word, stranger.data(), registered.data()};
    for (const Case& one : cases(memory)) {
      if (Result<void> checked = check(c, memory, one); !checked) return checked;
    }
    return c.unregister_buffer(registered.data());
  });
}

struct ThirdThreadPuts {
  int* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 2 && m.thread_index() == 37) pe.put_value(words, 1, 99);
  }
};

TEST(FaultReports, NameTheThread) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const Result<int*> words = c.allocate<int>(1);
    if (!words) return words.error();
    const Result<void> ran = c.launch(ThirdThreadPuts{*words}, {.blocks = 3, .threads = 64});
    const std::string expected =
        "PE 0 called put with a bad argument (block 2, thread 37, peer PE 99): there is no PE 99; "
        "the operation was not posted";
    if (ran) return mismatch("the bad argument was not reported");
    return ran.error().message() == expected ? Result<void>() : mismatch(ran.error().message());
  });
}

}  // namespace
}  // namespace gdakit
