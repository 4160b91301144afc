// Execution: one run of a simulated world, from the first step to the last. Decides who goes on:
// at every access to shared memory, the Chooser picks among the threads and the actors that can.
//
//   thread -- before(access) --> pick: itself  --> goes on, no switch
//                                pick: another --> suspends; run() resumes that one
//
// A thread that spins goes on when memory has changed or when its last turn read something old.
// When nobody can go on, the actors look for what they may have missed, spinning threads see the
// newest values, and time passes; if that changes nothing either, the run hangs, which is a
// finding.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/choice/choice.h"
#include "sim/scheduler.h"
#include "sim/stack_pool.h"
#include "sim/weak/memory.h"
#include "sim/world/actor.h"
#include "sim/world/sim_thread.h"

namespace gdakit::sim {

class Execution final : public Scheduler {
 public:
  // All references outlive the execution.
  Execution(weak::Memory& memory, StackPool& stacks, Chooser& chooser);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Adds a block of a launch; the caller has given its threads their agents.
  void add_block(SimBlock& block);
  void add_actor(Actor& actor) { actors_.push_back(&actor); }

  // Until every thread has ended and every actor rests, or something was found.
  void run();
  // run() then returns when the threads have ended, whatever the actors still have to do.
  void stop_with_threads() { stops_with_threads_ = true; }

  std::uint64_t now_ns() const { return now_ns_; }

  // A thread is about to touch shared memory.
  void before(SimThread& thread, NextStep next);
  // A thread has done a turn of a wait loop.
  void spin(SimThread& thread, Site site, const weak::Site& where);
  // For the destructor of a fiber's objects: nobody is chosen any more.
  bool is_over() const;

  void yield(Thread& thread, Reason reason) override;
  void wake(Thread& thread) override;

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  void report(const std::string& what) override;

  bool can_go(const SimThread& thread) const;
  bool warp_is_busy(const SimThread& thread) const;
  std::uint32_t pick();
  void run_runner(std::uint32_t runner);
  void resume(SimThread& thread);
  void end_thread(SimThread& thread);
  bool quiesce();
  bool pass_to_timer();
  bool pass_time();
  void report_hang();
  void report_endless(std::uint32_t runner);
  void suspend(SimThread& thread);

  weak::Memory& memory_;
  StackPool& stacks_;
  Chooser& chooser_;
  std::vector<SimThread*> threads_;
  std::vector<std::uint32_t> alive_;  // the numbers, ascending, of those that have not ended
  std::vector<SimBlock*> blocks_;
  std::vector<Actor*> actors_;
  std::vector<Candidate> candidates_;
  std::uint32_t current_ = kNobody;  // runner: a thread, or behind the threads an actor
  std::uint32_t picked_ = kNobody;
  std::uint64_t now_ns_ = 1;
  std::uint64_t steps_ = 0;
  bool stops_with_threads_ = false;
  std::uint64_t quiet_version_ = ~std::uint64_t{0};
  std::uint32_t quiet_rounds_ = 0;
};

}  // namespace gdakit::sim
