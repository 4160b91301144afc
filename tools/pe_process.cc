#include "tools/pe_process.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "tools/signals.h"

namespace gdakit::tools {
namespace {

struct Pipe {
  UniqueFileDescriptor read_end;
  UniqueFileDescriptor write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error::from_errno("pipe for the output of a PE (see ulimit -n)", errno);
  }
  return Pipe{UniqueFileDescriptor(ends[0]), UniqueFileDescriptor(ends[1])};
}

// The functions below run in the child, between fork and exec.

void set_environment(const PeStart& what) {
  // What an outer job has set is not for this one, whose PEs all are on this host: the rank of each
  // is its local rank.
  ::unsetenv("GDAKIT_LAUNCHER");
  ::unsetenv("GDAKIT_LOCAL_RANK");
  ::setenv("GDAKIT_RANK", std::to_string(what.rank).c_str(), 1);
  ::setenv("GDAKIT_SIZE", std::to_string(what.size).c_str(), 1);
  ::setenv("GDAKIT_ROOT", what.root.c_str(), 1);
  ::setenv("GDAKIT_SECRET", what.secret.c_str(), 1);
  for (const auto& [name, value] : what.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (what.rank == 0) {
    ::setenv("GDAKIT_LISTEN_FD", std::to_string(what.listener).c_str(), 1);
    ::fcntl(what.listener, F_SETFD, 0);
  } else {
    ::unsetenv("GDAKIT_LISTEN_FD");
  }
}

void set_streams(const PeStart& what, const Pipe& output, const Pipe& errors) {
  int input = what.input;
  if (input < 0) input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input != STDIN_FILENO) ::dup2(input, STDIN_FILENO);
  ::dup2(output.write_end.get(), STDOUT_FILENO);
  ::dup2(errors.write_end.get(), STDERR_FILENO);
}

// Becomes the program; returns errno if that fails.
int become(const PeStart& what, const Guard& guard, pid_t launcher, const Pipe& output,
           const Pipe& errors) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have died before the line above.
  if (::getppid() != launcher || !guard.watch(::getpid())) return ECHILD;
  set_environment(what);
  set_streams(what, output, errors);
  ::sigprocmask(SIG_SETMASK, &what.signal_mask, nullptr);
  std::vector<char*> arguments;
  for (const std::string& argument : what.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return errno;
}

// The errno that the child could not become the program with; 0 if it has become it: then the pipe,
// which is closed on exec, holds nothing.
int read_failure(int pipe) {
  int failure = 0;
  ssize_t count = 0;
  do {
    count = ::read(pipe, &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(failure) ? failure : 0;
}

// The program that a script's first line names; empty if it is no script.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.rfind("#!", 0) != 0) return {};
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

// Why execvp failed, where the text of its errno does not say what to do.
std::string why_not(const std::string& program, int error) {
  if (error != ENOENT) return ::strerror(error);
  const bool is_here = ::access(program.c_str(), F_OK) == 0;
  if (program.find('/') == program.npos) {
    const std::string text = "no folder of the PATH has a program of that name";
    return is_here ? text + "; the one in this folder is ./" + program : text;
  }
  if (!is_here) return ::strerror(error);
  const std::string interpreter = interpreter_of(program);
  return interpreter.empty() ? "the loader that it asks for does not exist"
                             : "its first line names " + interpreter + ", which does not exist";
}

}  // namespace

std::string PeEnd::text() const {
  if (!by_signal) return "ended with status " + std::to_string(number);
  return "was killed by " + signal_text(number);
}

Result<PeProcess> PeProcess::start(const PeStart& what, const Guard& guard) {
  Result<Pipe> output = make_pipe();
  if (!output) return output.error();
  Result<Pipe> errors = make_pipe();
  if (!errors) return errors.error();
  Result<Pipe> failure = make_pipe();
  if (!failure) return failure.error();

  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("fork for PE " + std::to_string(what.rank), errno);
  if (pid == 0) {
    const int error = become(what, guard, launcher, *output, *errors);
    const ssize_t written = ::write(failure->write_end.get(), &error, sizeof(error));
    ::_exit(written == sizeof(error) ? 127 : 126);
  }
  failure->write_end.reset();
  if (const int error = read_failure(failure->read_end.get()); error != 0) {
    ::waitpid(pid, nullptr, 0);
    guard.forget(pid);
    return Error(error == ENOENT ? Code::not_found : Code::permission_denied,
                 "cannot run " + what.command.front() + ": " + why_not(what.command.front(), error),
                 error);
  }
  PeProcess process(what.rank, pid);
  process.output = std::move(output->read_end);
  process.errors = std::move(errors->read_end);
  for (const UniqueFileDescriptor* stream : {&process.output, &process.errors}) {
    ::fcntl(stream->get(), F_SETFL, O_NONBLOCK);
  }
  return process;
}

void PeProcess::kill(int signal) const {
  if (running()) ::killpg(pid_, signal);
}

void PeProcess::poll_end(const Guard& guard) {
  if (!running()) return;
  siginfo_t info{};
  // WNOWAIT keeps the process as a zombie, so that its group's number cannot belong to another yet.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (info.si_pid == 0) return;
  ::killpg(pid_, SIGKILL);
  guard.forget(pid_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  end_ = WIFSIGNALED(status) ? PeEnd{true, WTERMSIG(status)} : PeEnd{false, WEXITSTATUS(status)};
}

}  // namespace gdakit::tools
