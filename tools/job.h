// A job of `gdakit run`: PEs as processes of this host, from start to end.
//
// One thread and one poll() loop: it passes the PEs' output on line by line, forwards signals, and
// ends all PEs when one fails. Nothing of the job outlives the launcher (guard.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/host/tcp_listener.h"
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
  bool prefix = true;               // "[2] " before the lines of PE 2
  std::vector<std::uint32_t> gpus;  // PE r gets entry r modulo their count; empty: not said
  MpsChoice mps = MpsChoice::automatic;
};

class Job {
 public:
  // Starts the PEs. No PE is left running after an error.
  static Result<Job> start(const JobSpec& spec, Signals signals);

  Job(Job&&) = default;

  // Returns when every PE has ended, with the job's exit status: 0, or that of the first failure.
  int run();

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

  Job(Guard guard, StdinRelay input, UniqueFileDescriptor signals)
      : guard_(std::move(guard)), input_(std::move(input)), signals_(std::move(signals)) {}
  Result<void> start_mps(const JobSpec& spec);
  Result<void> start_pes(const JobSpec& spec, const sigset_t& program_mask);

  bool running() const;
  bool output_left() const;
  void wait();
  int wait_milliseconds() const;
  void take_signals();
  void pump(Stream& stream);
  void flush_sinks();
  void collect_ends();
  void judge_suspect();
  void check_deadlines();
  // Ends the job with `status`; says why, unless `reason` is empty.
  void fail(const std::string& reason, int status);
  void kill_all(int signal);

  Guard guard_;
  std::unique_ptr<Mps> mps_;
  StdinRelay input_;
  UniqueFileDescriptor signals_;  // a signalfd
  // On the heap: streams point to them, and a Job moves.
  std::unique_ptr<Sink> output_ = std::make_unique<Sink>(1);
  std::unique_ptr<Sink> errors_ = std::make_unique<Sink>(2);
  std::vector<Pe> pes_;
  // The first PE that failed, and until when it may turn out that another was the cause.
  struct Suspect {
    int rank;
    PeEnd end;
    Clock::time_point until;
  };
  std::optional<Suspect> suspect_;
  std::optional<int> status_;  // of the failure that ends the job
  std::optional<Clock::time_point> job_deadline_;
  std::string timeout_text_;
  std::optional<Clock::time_point> kill_deadline_;
  bool output_abandoned_ = false;
};

}  // namespace gdakit::tools
