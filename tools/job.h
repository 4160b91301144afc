// A job of `gdakit run`: PEs as processes of this host, from start to end.
//
// One thread and one poll() loop: it passes the PEs' output on, forwards signals, and ends all PEs
// when one fails or asks for it. Nothing of the job outlives the launcher (guard.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "tools/exit_requests.h"
#include "tools/gpus.h"
#include "tools/guard.h"
#include "tools/mps.h"
#include "tools/output.h"
#include "tools/pe_process.h"
#include "tools/signals.h"
#include "tools/stdin_relay.h"

namespace gdakit::tools {

struct JobSpec {
  int size = 1;
  std::vector<std::string> command;  // program and arguments
  std::optional<std::chrono::milliseconds> timeout;
  bool prefix = true;               // "[2] " before the lines of PE 2; else no byte is added
  std::vector<std::uint32_t> gpus;  // PE r gets entry r modulo their count; empty: not said
  GpusTaken gpus_taken;             // where they are not said
  MpsChoice mps = MpsChoice::automatic;
  std::string capture;   // GDAKIT_CAPTURE of the PEs; empty: not said
  std::string counters;  // GDAKIT_COUNTERS likewise
  std::string trace;     // GDAKIT_TRACE likewise
  std::vector<std::pair<std::string, std::string>> variables;  // more of the PEs' environment
  bool goes_on = false;  // when a PE other than PE 0 is gone (GDAKIT_PEER_LOSS)
};

class Job {
 public:
  // Starts the PEs. No PE is left running after an error.
  static Result<Job> start(const JobSpec& spec, Signals signals);

  Job(Job&&) = default;

  // Returns when every PE has ended, with the job's exit status: 0, that of the first failure, or
  // what a PE asked for.
  int run();

  // After run(): a signal that went to the PEs is not for what follows, as a wrapper may send it
  // twice (`timeout`). Waits a little for such doubles, if there was a signal, and drops them.
  void drop_doubles() const;

 private:
  using Clock = std::chrono::steady_clock;

  // One of the two output streams of a PE.
  struct Stream {
    UniqueFileDescriptor descriptor;
    LineSplitter lines;
    Sink* sink;
  };
  struct Pe {
    PeProcess process;
    Stream output;
    Stream errors;
  };

  Job(Guard guard, StdinRelay input, ExitRequests exits, UniqueFileDescriptor signals)
      : guard_(std::move(guard)),
        input_(std::move(input)),
        exits_(std::move(exits)),
        signals_(std::move(signals)) {}
  Result<void> start_mps(const JobSpec& spec);
  Result<void> start_pes(const JobSpec& spec, const sigset_t& program_mask);

  bool running() const;
  bool output_left() const;
  void wait();
  int wait_milliseconds() const;
  void take_signals();
  void forward(int signal);
  void pump(Stream& stream);
  void flush_sinks();
  void collect_ends();
  void close_listener();
  void judge(const PeProcess& failed);
  void go_on_without(const PeProcess& failed);
  void judge_suspect();
  void take_exit_request();
  void check_deadlines();
  // Ends the job with `status`; says why, unless `reason` is empty. The PE that ends by itself
  // (-1: none does) has until the others are killed.
  void end(const std::string& reason, int status, int ends_by_itself = -1);
  void kill_all(int signal, int but = -1);

  Guard guard_;
  std::unique_ptr<Mps> mps_;
  StdinRelay input_;
  ExitRequests exits_;
  UniqueFileDescriptor signals_;   // a signalfd
  UniqueFileDescriptor listener_;  // which PE 0 inherits; until that ends
  // On the heap: streams point to them, and a Job moves.
  std::unique_ptr<Sink> output_ = std::make_unique<Sink>(STDOUT_FILENO, "stdout");
  std::unique_ptr<Sink> errors_ = std::make_unique<Sink>(STDERR_FILENO, "stderr");
  std::vector<Pe> pes_;
  // The first PE that failed, until when it may turn out that another was the cause, and when the
  // others are ended.
  struct Suspect {
    int rank;
    PeEnd end;
    Clock::time_point blamed_from;
    Clock::time_point ends_others;
  };
  std::optional<Suspect> suspect_;
  std::map<int, Clock::time_point> forwarded_;  // when each signal came first
  bool goes_on_ = false;
  std::optional<int> failure_;  // the exit status of the first PE that others went on without
  std::optional<int> status_;   // what the job ends with, before its time
  std::optional<Clock::time_point> job_deadline_;
  std::string timeout_text_;
  std::optional<Clock::time_point> kill_deadline_;
  bool output_abandoned_ = false;
};

}  // namespace gdakit::tools
