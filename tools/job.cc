#include "tools/job.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/base/seconds_text.h"
#include "core/host/gpu/mps.h"
#include "core/host/launch/launch_info.h"
#include "core/host/launch/tcp_listener.h"
#include "tools/command.h"
#include "tools/gpus.h"

namespace gdakit::tools {
namespace {

// Between SIGTERM and SIGKILL.
constexpr std::chrono::seconds kTermPatience{2};

// A PE that was killed loses its connections a moment before it can be waited for, so that another
// PE may fail because of it and still be seen first. So long is waited for the one that was killed.
constexpr std::chrono::milliseconds kCausePatience{100};

// After a PE that says that it has failed the others may say so, too: perhaps they know why. So
// long they have for it.
constexpr std::chrono::seconds kWordsPatience{2};

// Wrappers such as `timeout` send a signal both to the launcher and to its process group. A second
// one within this time is the first one's double.
constexpr std::chrono::milliseconds kTwiceAtOnce{100};

}  // namespace

Result<Job> Job::start(const JobSpec& spec, Signals signals) {
  Result<Guard> guard = Guard::start();
  if (!guard) return guard.error();
  Result<StdinRelay> input = StdinRelay::open();
  if (!input) return input.error();
  Result<ExitRequests> exits = ExitRequests::open();
  if (!exits) return exits.error();
  const sigset_t program_mask = signals.before;
  Job job(std::move(*guard), std::move(*input), std::move(*exits), std::move(signals.descriptor));
  job.goes_on_ = spec.goes_on;
  if (Result<void> served = job.start_mps(spec); !served) return served.error();
  if (Result<void> started = job.start_pes(spec, program_mask); !started) {
    job.kill_all(SIGKILL);
    while (job.running()) {
      job.wait();
      job.take_signals();
      for (Pe& pe : job.pes_) pe.process.poll_end(job.guard_);
    }
    return started.error();
  }
  if (spec.timeout) {
    job.job_deadline_ = Clock::now() + *spec.timeout;
    job.timeout_text_ = seconds_text(*spec.timeout);
  }
  return job;
}

// MPS for PEs that share a GPU: those that the environment's daemon does not serve get one of their
// own. A job that could have had it and does not is told what that costs, unless its program may
// use no GPU at all.
Result<void> Job::start_mps(const JobSpec& spec) {
  const bool said = !spec.gpus.empty();
  const std::string sharing = sharing_text(said ? spec.gpus : spec.gpus_taken.gpus, spec.size);
  std::string why = "--mps off";
  if (spec.mps != MpsChoice::off) {
    if (mps_serves() || (sharing.empty() && spec.mps == MpsChoice::automatic)) return {};
    Result<std::unique_ptr<Mps>> mps = Mps::start(guard_);
    if (mps) mps_ = std::move(*mps);
    if (mps) return {};
    if (spec.mps == MpsChoice::on) {
      return Error(Code::unavailable, "--mps on: " + mps.error().message());
    }
    why = mps.error().message();
  }
  if (sharing.empty() || !(said || spec.gpus_taken.certain)) return {};
  errors_->pending() += "gdakit run: " + sharing + " without MPS (" + why +
                        "): they take turns, so that every operation of their NICs takes "
                        "milliseconds (2 to 5 ms on an H200)\n";
  return {};
}

Result<void> Job::start_pes(const JobSpec& spec, const sigset_t& program_mask) {
  Result<UniqueFileDescriptor> listener = open_listener("127.0.0.1", 0);
  if (!listener) return listener.error();
  listener_ = std::move(*listener);
  const Result<ListenerAddress> address = listener_address(listener_.get());
  if (!address) return address.error();
  const Result<JobSecret> secret = make_job_secret();
  if (!secret) return secret.error();

  PeStart what;
  what.size = spec.size;
  what.command = spec.command;
  what.root = address->host + ":" + std::to_string(address->port);
  what.secret = job_secret_text(*secret);
  what.listener = listener_.get();
  what.signal_mask = program_mask;
  what.environment.emplace_back("GDAKIT_EXIT_PIPE", exits_.path());
  for (const auto& variable : spec.variables) what.environment.push_back(variable);
  if (!spec.capture.empty()) what.environment.emplace_back("GDAKIT_CAPTURE", spec.capture);
  if (!spec.counters.empty()) what.environment.emplace_back("GDAKIT_COUNTERS", spec.counters);
  if (!spec.trace.empty()) what.environment.emplace_back("GDAKIT_TRACE", spec.trace);
  if (!spec.gpus.empty()) what.environment.emplace_back("GDAKIT_GPUS", gpus_text(spec.gpus));
  if (mps_ != nullptr) {
    for (const auto& variable : mps_->environment()) what.environment.push_back(variable);
  }
  const std::vector<std::uint32_t>& gpus = spec.gpus.empty() ? spec.gpus_taken.gpus : spec.gpus;
  const bool by_mps = mps_ != nullptr || mps_serves();
  for (const auto& variable : connections_of(most_on_one(gpus, spec.size), by_mps)) {
    what.environment.push_back(variable);
  }
  for (what.rank = 0; what.rank < spec.size; ++what.rank) {
    what.input = what.rank == 0 ? input_.input() : -1;
    Result<PeProcess> process = PeProcess::start(what, guard_);
    if (!process) return process.error();
    const std::string prefix = spec.prefix ? "[" + std::to_string(what.rank) + "] " : "";
    // Lines of one PE cannot mix with those of another, so none has to be waited for.
    const LineSplitter lines(prefix, !spec.prefix && spec.size == 1);
    Stream output{std::move(process->output), lines, output_.get()};
    Stream errors{std::move(process->errors), lines, errors_.get()};
    pes_.push_back({std::move(*process), std::move(output), std::move(errors)});
  }
  input_.started();
  return {};
}

int Job::run() {
  while (running() || (output_left() && !output_abandoned_)) {
    wait();
    take_signals();
    flush_sinks();
    for (Pe& pe : pes_) {
      pump(pe.output);
      pump(pe.errors);
    }
    take_exit_request();
    collect_ends();
    judge_suspect();
    check_deadlines();
    flush_sinks();
  }
  return status_.value_or(failure_.value_or(0));
}

bool Job::running() const {
  return std::ranges::any_of(pes_, [](const Pe& pe) { return pe.process.running(); });
}

bool Job::output_left() const {
  const auto open = [](const Pe& pe) { return pe.output.descriptor || pe.errors.descriptor; };
  return !output_->empty() || !errors_->empty() || std::ranges::any_of(pes_, open);
}

// Returns when something can be done, which the caller then finds by trying.
void Job::wait() {
  std::vector<pollfd> events = {{signals_.get(), POLLIN, 0}, {exits_.descriptor(), POLLIN, 0}};
  for (const Sink* sink : {output_.get(), errors_.get()}) {
    if (!sink->empty()) events.push_back({sink->descriptor(), POLLOUT, 0});
  }
  for (const Pe& pe : pes_) {
    for (const Stream* stream : {&pe.output, &pe.errors}) {
      if (stream->descriptor && !stream->sink->full()) {
        events.push_back({stream->descriptor.get(), POLLIN, 0});
      }
    }
  }
  const std::optional<pollfd> input = input_.awaited();
  if (input) events.push_back(*input);
  ::poll(events.data(), events.size(), wait_milliseconds());
  if (input) input_.progress(events.back());
}

int Job::wait_milliseconds() const {
  std::optional<Clock::time_point> next = kill_deadline_;
  if (job_deadline_) next = std::min(*job_deadline_, next.value_or(*job_deadline_));
  if (suspect_ && !status_) {
    next = std::min(suspect_->ends_others, next.value_or(suspect_->ends_others));
  }
  if (!next) return -1;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(rest, 0, 3'600'000));
}

void Job::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (running()) {
      forward(signal);
    } else if (signal != SIGUSR1 && signal != SIGUSR2) {
      // Only output is left, and whoever should read it may never do so.
      output_abandoned_ = true;
      status_ = 128 + signal;
    }
  }
}

// What to do at the first one is up to the programs; who sends a second one has waited for them.
void Job::forward(int signal) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point first = forwarded_.emplace(signal, now).first->second;
  if ((signal == SIGINT || signal == SIGTERM) && now - first >= kTwiceAtOnce) {
    end(signal_text(signal) + " came a second time; ending the PEs", 128 + signal);
  } else {
    kill_all(signal);
  }
}

void Job::drop_doubles() const {
  if (forwarded_.empty()) return;
  sigset_t doubles;
  ::sigemptyset(&doubles);
  for (const auto& [signal, at] : forwarded_) ::sigaddset(&doubles, signal);
  std::this_thread::sleep_for(kTwiceAtOnce);
  const timespec at_once{};
  while (::sigtimedwait(&doubles, nullptr, &at_once) > 0) {
  }
}

// Reads what there is now, and no more than the sink takes.
void Job::pump(Stream& stream) {
  char buffer[65536];
  while (stream.descriptor && !stream.sink->full()) {
    const ssize_t count = ::read(stream.descriptor.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      stream.lines.finish(stream.sink->pending());
      stream.descriptor.reset();
      return;
    }
    stream.lines.feed({buffer, static_cast<std::size_t>(count)}, stream.sink->pending());
  }
}

void Job::flush_sinks() {
  for (Sink* sink : {output_.get(), errors_.get()}) {
    const Result<void> flushed = sink->flush();
    if (flushed) continue;
    if (flushed.error().system_code() == EPIPE) {
      end("", 128 + SIGPIPE);  // as `| head` ends other commands: without a word
    } else {
      end(flushed.error().message(), kFailed);
    }
  }
}

void Job::collect_ends() {
  for (Pe& pe : pes_) {
    if (!pe.process.running()) continue;
    pe.process.poll_end(guard_);
    if (pe.process.running() || !pe.process.end()->failed()) continue;
    judge(pe.process);
  }
  if (!pes_.front().process.running()) close_listener();
  for (Pe& pe : pes_) {
    if (pe.process.running()) continue;
    for (Stream* stream : {&pe.output, &pe.errors}) {
      pump(*stream);
      // All that the PE has written is in the pipe, which may still be open elsewhere: what has
      // left the PE's process group is not waited for.
      if (stream->sink->full()) continue;
      stream->lines.finish(stream->sink->pending());
      stream->descriptor.reset();
    }
  }
}

// Once PE 0 has ended, nobody can connect to a job that is no more. PE 0 may have left the socket
// to a program that outlives it, so closing it here is not enough.
void Job::close_listener() {
  if (!listener_) return;
  ::shutdown(listener_.get(), SHUT_RDWR);
  listener_.reset();
}

void Job::take_exit_request() {
  const std::optional<ExitRequest> request = exits_.take();
  if (!request) return;
  end("PE " + std::to_string(request->rank) + " ended the job with status " +
          std::to_string(request->status) + (running() ? "; ending the other PEs" : ""),
      request->status, request->rank);
}

void Job::judge(const PeProcess& failed) {
  if (goes_on_ && failed.rank() != 0) return go_on_without(failed);
  const PeEnd& end = *failed.end();
  const Clock::time_point now = Clock::now();
  if (suspect_ && (suspect_->end.by_signal || !end.by_signal || now >= suspect_->blamed_from)) {
    return;
  }
  suspect_ = Suspect{failed.rank(), end, now + kCausePatience, now + kWordsPatience};
}

// A PE that is killed is what such a job is made for; one that says that it has failed has failed.
void Job::go_on_without(const PeProcess& failed) {
  const PeEnd& end = *failed.end();
  if (!end.by_signal && !failure_) failure_ = end.exit_status();
  if (status_) return;
  errors_->pending() += "gdakit run: PE " + std::to_string(failed.rank()) + " " + end.text() +
                        (running() ? "; the others go on without it\n" : "\n");
}

void Job::judge_suspect() {
  if (!suspect_ || status_) return;
  if (!suspect_->end.by_signal && running() && Clock::now() < suspect_->ends_others) return;
  end("PE " + std::to_string(suspect_->rank) + " " + suspect_->end.text() +
          (running() ? "; ending the other PEs" : ""),
      suspect_->end.exit_status());
}

void Job::check_deadlines() {
  if (job_deadline_ && Clock::now() >= *job_deadline_) {
    job_deadline_.reset();
    if (running() && !status_) {
      end("the job did not end within " + timeout_text_ + "; ending its PEs", kJobTimedOut);
    }
  }
  if (kill_deadline_ && Clock::now() >= *kill_deadline_) {
    kill_deadline_.reset();
    kill_all(SIGKILL);
  }
}

void Job::end(const std::string& reason, int status, int ends_by_itself) {
  if (status_) return;
  status_ = status;
  if (!reason.empty()) errors_->pending() += "gdakit run: " + reason + "\n";
  kill_all(SIGTERM, ends_by_itself);
  kill_all(SIGCONT);  // a stopped process would not see SIGTERM
  kill_deadline_ = Clock::now() + kTermPatience;
}

void Job::kill_all(int signal, int but) {
  for (const Pe& pe : pes_) {
    if (pe.process.rank() != but) pe.process.kill(signal);
  }
}

}  // namespace gdakit::tools
