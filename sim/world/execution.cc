#include "sim/world/execution.h"

#include <algorithm>
#include <exception>

#include "core/host/stall.h"
#include "sim/explore/text.h"

namespace gdakit::sim {
namespace {

// Far above what any scenario needs.
constexpr std::uint64_t kMaxSteps = 200'000;
// Turns of a wait loop that see nothing new, in each of which this much time passes. A watchdog
// looks at the clock at every 16th turn, twice before it can trip.
constexpr std::uint32_t kQuietRounds = 48;
constexpr std::uint64_t kQuietNs = 1'000'000'000;

std::string thread_name(const SimThread& thread) {
  return "PE " + std::to_string(thread.pe) + " block " + std::to_string(thread.block_index) +
         " thread " + std::to_string(thread.thread_index);
}

// Where in the source the thread is: ", in wait_until at halo.h:31"; "" if that is not known.
std::string known_place(const SimThread& thread) {
  const bool in_call = thread.call != nullptr;
  const CallPlace& at = in_call ? thread.call_site : thread.last_site;
  if (at.line == 0) return "";
  return (in_call ? std::string(", in ") + thread.call + " at " : std::string(", at ")) +
         std::string(without_directories(at.file)) + ":" + std::to_string(at.line);
}

// Thrown to leave a fiber whose execution has failed.
struct Leave {};

}  // namespace

Execution::Execution(weak::Memory& memory, StackPool& stacks, Chooser& chooser)
    : memory_(memory), stacks_(stacks), chooser_(chooser) {}

Execution::~Execution() {
  for (SimThread* thread : threads_) {
    if (!thread->fiber.has_value()) continue;
    thread->fiber.reset();
    stacks_.give(thread->stack);
  }
}

void Execution::add_block(SimBlock& block) {
  std::vector<Thread*> threads;
  for (SimThread& thread : block.threads) {
    alive_.push_back(static_cast<std::uint32_t>(threads_.size()));
    threads_.push_back(&thread);
    threads.push_back(&thread);
  }
  block.block.emplace(*this, std::move(threads));
  blocks_.push_back(&block);
}

bool Execution::is_over() const {
  return memory_.finding() != FindingKind::none || chooser_.redundant();
}

void Execution::run() {
  for (;;) {
    if (is_over() || (stops_with_threads_ && alive_.empty())) return;
    std::uint32_t runner = picked_;
    picked_ = kNobody;
    if (runner == kNobody) runner = pick();
    if (runner == kNobody) {
      if (quiesce()) continue;
      if (!alive_.empty()) report_hang();
      return;
    }
    run_runner(runner);
    if (++steps_ > kMaxSteps) report_endless(runner);
  }
}

void Execution::run_runner(std::uint32_t runner) {
  current_ = runner;
  ++now_ns_;
  if (runner >= threads_.size()) {
    actors_[runner - threads_.size()]->go(now_ns_);
  } else {
    resume(*threads_[runner]);
  }
}

void Execution::resume(SimThread& thread) {
  thread.state = ThreadState::ready;
  thread.yielded = false;
  if (!thread.fiber.has_value()) {
    const Result<Stack> stack = stacks_.take();
    if (!stack) {
      memory_.find(FindingKind::thrown, stack.error().message());
      return;
    }
    thread.stack = *stack;
    const auto body = [](void* argument) {
      auto& self = *static_cast<SimThread*>(argument);
      self.main->enter(self.main->kernel, self);
    };
    thread.fiber.emplace(thread.stack, body, &thread);
  }
  set_current_thread(&thread);
  thread.fiber->resume();
  set_current_thread(nullptr);
  if (thread.fiber->ended()) end_thread(thread);
}

void Execution::end_thread(SimThread& thread) {
  const std::exception_ptr thrown = thread.fiber->exception();
  thread.fiber.reset();
  stacks_.give(thread.stack);
  thread.state = ThreadState::ended;
  alive_.erase(std::find(alive_.begin(), alive_.end(), current_));
  current_ = kNobody;
  if (thrown != nullptr) {
    std::string what = "something that is no std::exception";
    try {
      std::rethrow_exception(thrown);
    } catch (const Leave&) {
      return;
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    return memory_.find(FindingKind::thrown, thread_name(thread) + " threw " + what);
  }
  try {
    thread.block->exit(thread);
  } catch (const Leave&) {
    // The finding stands.
  }
}

bool Execution::can_go(const SimThread& thread) const {
  switch (thread.state) {
    case ThreadState::ready: return true;
    case ThreadState::spinning: return thread.saw_old || thread.seen_version != memory_.version();
    case ThreadState::gathering: return !warp_is_busy(thread);
    default: return false;
  }
}

// Whether another lane of the warp may still come to where this one waits.
bool Execution::warp_is_busy(const SimThread& thread) const {
  const std::deque<SimThread>& threads = thread.home->threads;
  const std::size_t first = std::size_t{thread.warp_index()} * kWarpSize;
  const std::size_t end = std::min(first + kWarpSize, threads.size());
  for (std::size_t i = first; i < end; ++i) {
    if (&threads[i] != &thread && threads[i].state == ThreadState::ready) return true;
  }
  return false;
}

std::uint32_t Execution::pick() {
  const auto threads = static_cast<std::uint32_t>(threads_.size());
  const auto all = threads + static_cast<std::uint32_t>(actors_.size());
  candidates_.resize(all);
  Candidate* end = candidates_.data();
  // Written member by member and in place: copies of what was just written are slow.
  const auto put = [&end](std::uint32_t number, const NextStep& next, bool yielded) {
    end->agent = number;
    end->next.kind = next.kind;
    end->next.object = next.object;
    end->yielded = yielded;
    ++end;
  };
  const auto add_thread = [&](std::uint32_t number) {
    const SimThread& thread = *threads_[number];
    if (can_go(thread)) put(number, thread.next, thread.yielded);
  };
  const auto add_actor = [&](std::uint32_t number) {
    const Actor& actor = *actors_[number - threads];
    if (actor.can_go(now_ns_)) put(number, {}, false);
  };
  if (current_ < threads) {
    add_thread(current_);
  } else if (current_ != kNobody) {
    add_actor(current_);
  }
  for (const std::uint32_t number : alive_) {
    if (number != current_) add_thread(number);
  }
  for (std::uint32_t number = threads; number < all; ++number) {
    if (number != current_) add_actor(number);
  }
  const auto count = static_cast<std::size_t>(end - candidates_.data());
  if (count == 0) return kNobody;
  return candidates_[chooser_.choose_agent({candidates_.data(), count})].agent;
}

void Execution::before(SimThread& thread, NextStep next) {
  if (is_over()) suspend(thread);
  thread.next = next;
  const std::uint32_t runner = pick();
  if (threads_[current_] == &thread && runner == current_ && !chooser_.redundant()) {
    ++now_ns_;
    ++steps_;
    if (steps_ <= kMaxSteps) return;
  }
  picked_ = runner;
  suspend(thread);
}

void Execution::suspend(SimThread& thread) { thread.fiber->suspend(); }

void Execution::spin(SimThread& thread, Site site, const weak::Site& where) {
  thread.waits_at = site;
  if (memory_.version() != thread.seen_version) memory_.set_fresh(thread.agent, false);
  thread.saw_old = memory_.read_stale(thread.agent);
  thread.seen_version = memory_.version();
  memory_.end_turn(thread.agent, &where);
  thread.state = ThreadState::spinning;
  thread.yielded = true;
  thread.next = {NextStep::Kind::local, 0};
  suspend(thread);
}

void Execution::yield(Thread& base, Reason reason) {
  auto& thread = static_cast<SimThread&>(base);
  thread.next = {NextStep::Kind::local, 0};
  switch (reason) {
    case Reason::blocked: thread.state = ThreadState::blocked; break;
    case Reason::gather:
      if (chooser_.choose(Choice::gather, 2) == 0) thread.state = ThreadState::gathering;
      thread.yielded = true;
      break;
    case Reason::spin:
      thread.state = ThreadState::spinning;
      thread.yielded = true;
      break;
  }
  suspend(thread);
}

void Execution::wake(Thread& base) {
  auto& thread = static_cast<SimThread&>(base);
  thread.state = ThreadState::ready;
}

void Execution::report(const std::string& what) {
  memory_.find(FindingKind::group, what);
  throw Leave{};
}

// Nobody can go on. True if somebody can now.
bool Execution::quiesce() {
  current_ = kNobody;
  if (memory_.version() != quiet_version_) quiet_rounds_ = 0;
  for (Actor* actor : actors_) {
    if (actor->idle_turn(now_ns_)) return true;
  }
  quiet_version_ = memory_.version();
  if (++quiet_rounds_ > kQuietRounds) return false;
  return alive_.empty() ? pass_to_timer() : pass_time();
}

// The kernels have ended; a NIC may still have something to send again.
bool Execution::pass_to_timer() {
  std::optional<std::uint64_t> next;
  for (const Actor* actor : actors_) {
    const auto timer = actor->next_timer_ns();
    if (timer && *timer > now_ns_ && (!next || *timer < *next)) next = timer;
  }
  if (next) now_ns_ = *next;
  return next.has_value();
}

// Lets time pass, up to the next timer if there is one, and gives every spinning thread a turn.
bool Execution::pass_time() {
  std::uint64_t until = now_ns_ + kQuietNs;
  for (const Actor* actor : actors_) {
    const auto timer = actor->next_timer_ns();
    if (timer && *timer > now_ns_) until = std::min(until, *timer);
  }
  now_ns_ = until;
  bool any = false;
  for (SimThread* thread : threads_) {
    if (thread->state != ThreadState::spinning) continue;
    memory_.set_fresh(thread->agent, true);
    thread->state = ThreadState::ready;
    any = true;
  }
  return any;
}

void Execution::report_endless(std::uint32_t runner) {
  std::string text = "the run did not end within " + std::to_string(kMaxSteps) +
                     " steps: some loop makes no progress";
  if (runner < threads_.size()) {
    const SimThread& thread = *threads_[runner];
    text += ". " + thread_name(thread) + " ran last" + known_place(thread);
    if (thread.call == nullptr) {
      text +=
          "; a loop that waits calls m.spin(Site::user) in every turn, so that others can go on";
    }
  }
  memory_.find(FindingKind::hang, text);
}

void Execution::report_hang() {
  std::string text = "nobody can go on:";
  for (const SimThread* thread : threads_) {
    if (thread->state == ThreadState::ended) continue;
    text += "\n  " + thread_name(*thread);
    text += thread->state == ThreadState::blocked
                ? std::string(" waits in ") + operation_name(thread->waits_in)
                : std::string(" waits for ") + waited_for(thread->waits_at);
    text += known_place(*thread);
  }
  memory_.find(FindingKind::hang, text);
}

}  // namespace gdakit::sim
