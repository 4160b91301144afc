#include "tools/mps.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/base/file_descriptor.h"
#include "core/base/process_status.h"
#include "core/host/gpu/mps.h"
#include "tools/command.h"

namespace gdakit::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr std::chrono::seconds kStartLimit{5};
constexpr std::chrono::seconds kEndLimit{10};
constexpr std::chrono::milliseconds kLook{10};

// Calls `done` until it is true or the limit has passed.
template <class Done>
bool wait_for(std::chrono::seconds limit, Done done) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

[[noreturn]] void become_control(const Variables& variables, const char* argument, int input) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(input, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::execlp(kControl, kControl, argument, nullptr);
  ::_exit(errno == ENOENT ? kNotFound : kNotExecutable);
}

// Runs the control program with `commands` as its input; returns its exit status.
Result<int> run_control(const Variables& variables, const char* argument,
                        const std::string& commands) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe to the MPS daemon", errno);
  const UniqueFileDescriptor read_end(ends[0]);
  UniqueFileDescriptor write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("fork for the MPS daemon", errno);
  if (pid == 0) become_control(variables, argument, read_end.get());
  // Fits into the pipe, whether it is read or not.
  const ssize_t written = ::write(write_end.get(), commands.data(), commands.size());
  write_end.reset();
  int status = 0;
  const bool ended = wait_for(kEndLimit, [&] { return ::waitpid(pid, &status, WNOHANG) != 0; });
  if (!ended) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  if (!ended || written < 0 || !WIFEXITED(status)) {
    return Error(Code::timed_out, std::string(kControl) + " did not answer");
  }
  return WEXITSTATUS(status);
}

}  // namespace

bool Mps::installed() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + kControl).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Result<std::unique_ptr<Mps>> Mps::start(const Guard& guard) {
  std::string name = std::filesystem::temp_directory_path() / "gdakit-mps-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Error::from_errno("directory for the MPS daemon in " + name, errno);
  }
  std::unique_ptr<Mps> mps(new Mps(name));
  Result<int> status = run_control(mps->environment(), "-d", "");
  if (!status) return status.error();
  if (*status == kNotFound) {
    return Error(Code::not_found, std::string("there is no ") + kControl + " on the PATH");
  }
  if (*status != 0) {
    return Error(Code::unavailable,
                 std::string(kControl) + " -d ended with status " + std::to_string(*status));
  }
  const bool up = wait_for(kStartLimit, [&] { return mps_daemon(mps->directory_).has_value(); });
  if (!up) return Error(Code::timed_out, std::string(kControl) + " -d started no daemon");
  mps->daemon_ = *mps_daemon(mps->directory_);
  guard.watch(mps->daemon_);
  return mps;
}

Mps::~Mps() {
  if (daemon_ != 0) {
    // The end of the process, not the answer, says whether it has worked.
    static_cast<void>(run_control(environment(), nullptr, "quit\n"));
    if (!wait_for(kEndLimit, [this] { return !process_runs(daemon_); })) ::kill(daemon_, SIGKILL);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::vector<std::pair<std::string, std::string>> Mps::environment() const {
  return {{kMpsPipeVariable, directory_.string()}, {"CUDA_MPS_LOG_DIRECTORY", directory_.string()}};
}

std::vector<std::pair<std::string, std::string>> connections_of(int processes, bool by_mps) {
  constexpr int kOfAll = 16;
  constexpr int kOfCuda = 8;  // its default
  if (connections_given()) return {};
  const int each = by_mps ? std::clamp(kOfAll / std::max(processes, 1), 1, kOfCuda) : kOfCuda;
  return {{"CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(each)}};
}

}  // namespace gdakit::tools
