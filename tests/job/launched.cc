#include "tests/job/launched.h"

#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/base/process_status.h"

namespace gdakit::testing_job {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  char buffer[65536];
  for (ssize_t count = 0; (count = ::read(descriptor, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

Launched::Launched(const std::vector<std::string>& words, const std::string& input,
                   bool hangup_ignored, const std::string& program) {
  int in[2];
  int out[2];
  int err[2];
  EXPECT_EQ(::pipe2(in, O_CLOEXEC) | ::pipe2(out, O_CLOEXEC) | ::pipe2(err, O_CLOEXEC), 0);
  const char* const name = program.empty() ? GDAKIT_COMMAND : program.c_str();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    if (hangup_ignored) ::signal(SIGHUP, SIG_IGN);
    std::vector<char*> arguments = {const_cast<char*>(name)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(name, arguments.data());
    ::_exit(99);
  }
  for (const int descriptor : {in[0], out[1], err[1]}) ::close(descriptor);
  EXPECT_EQ(::write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  ::close(in[1]);
  output_.reset(out[0]);
  errors_.reset(err[0]);
  error_reader_ = std::thread([this] { outcome_.errors = read_all(errors_.get()); });
}

std::string Launched::line() {
  std::string text;
  char c = 0;
  while (::read(output_.get(), &c, 1) == 1 && c != '\n') text += c;
  return text;
}

void Launched::kill(int signal) const { ::kill(pid_, signal); }

const Outcome& Launched::wait() {
  if (outcome_.status >= 0) return outcome_;
  if (output_) outcome_.output = read_all(output_.get());
  error_reader_.join();
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  outcome_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome_;
}

std::vector<std::string> shell_job(int size, const std::string& script) {
  return {"run", "-n", std::to_string(size), "sh", "-c", script};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool ended_within(pid_t pid, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  do {
    const auto status = process_status(pid);
    if (!status || status->state == 'Z' || status->state == 'X') return true;
    std::this_thread::sleep_for(10ms);
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace gdakit::testing_job
