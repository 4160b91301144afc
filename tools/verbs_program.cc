#include "tools/verbs_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "backends/softnic/uverbs/failures.h"
#include "backends/softnic/uverbs/spec.h"
#include "backends/softnic/uverbs/sysfs.h"
#include "backends/softnic/wire/faults.h"
#include "core/base/private_file.h"
#include "tools/command.h"
#include "tools/job_directory.h"
#include "tools/job_trace.h"
#include "tools/signals.h"

namespace gdakit::tools {
namespace {

namespace uverbs = softnic::uverbs;

constexpr const char* kLibrary = "libgdakit-verbs.so";
constexpr const char* kTraceSpeaker = "gdakit verbs: --trace: ";

// Beside this command, where it is installed or where it was built.
Result<std::string> find_library() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* const place : {GDAKIT_VERBS_INSTALLED, GDAKIT_VERBS_BUILT}) {
    const auto path = (folder / place / kLibrary).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return Error(Code::not_found, std::string(kLibrary) + " lies neither in " +
                                    (folder / GDAKIT_VERBS_INSTALLED).lexically_normal().string() +
                                    " nor in the build folder; install gdakit whole");
}

// What the NICs' wires do besides.
Result<void> add_wire_variables(const VerbsOptions& options, Variables& variables) {
  if (!options.faults.empty()) {
    const Result<softnic::Faults> faults = softnic::parse_faults(options.faults);
    if (!faults) return faults.error().within("--faults");
    variables.emplace_back("GDAKIT_NIC_FAULTS", options.faults);
  }
  if (!options.pcap.empty()) {
    const Result<std::string> folder = make_folder(options.pcap);
    if (!folder) return folder.error().within("--pcap");
    variables.emplace_back("GDAKIT_CAPTURE", *folder);
  }
  return {};
}

// With the folders that stand in for /sys: that of all PEs, and of those that find another node.
Result<std::string> make_folders(const uverbs::Spec& spec, const uverbs::Failures& failures) {
  for (const int pe : failures.pes()) {
    uverbs::Spec of_pe = spec;
    of_pe.failures = failures.of_pe(pe);
    if (const auto folder = uverbs::sysfs_folder(of_pe); !folder) return folder.error();
  }
  uverbs::Spec of_all = spec;
  of_all.failures = failures.of_pe(std::nullopt);
  return uverbs::sysfs_folder(of_all);
}

// NICs that other hosts reach have one address each.
Result<void> check_ports(const uverbs::Spec& spec, const uverbs::Failures& failures) {
  if (spec.address.empty()) return {};
  std::vector<std::optional<int>> pes{std::nullopt};
  for (const int pe : failures.pes()) pes.emplace_back(pe);
  for (const std::optional<int> pe : pes) {
    const uverbs::Failures of_pe = failures.of_pe(pe);
    for (int nic = 0; nic < spec.nics; ++nic) {
      if (of_pe.of_nic(nic).ports == 1) continue;
      return Error(Code::invalid_argument,
                   "--fail ports=2: NICs that other hosts reach (--address) have one port each; "
                   "leave out one of the two");
    }
  }
  return {};
}

Result<uverbs::Failures> failures_of(const VerbsOptions& options) {
  std::string list;
  for (const std::string& one : options.fail) list += (list.empty() ? "" : ",") + one;
  Result<uverbs::Failures> failures = uverbs::Failures::parse(list);
  if (!failures) return failures.error().within("--fail");
  return failures;
}

void set(const Variables& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

// What the terminal sends comes to the program, too; what others send to this process does not.
void forward(const signalfd_siginfo& signal, pid_t child) {
  const bool is_terminals = signal.ssi_code == SI_KERNEL;
  if (!is_terminals) ::kill(child, static_cast<int>(signal.ssi_signo));
}

int wait_for_program(pid_t child, const Signals& signals) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    pollfd readable{signals.descriptor.get(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    signalfd_siginfo signal{};
    if (::read(readable.fd, &signal, sizeof signal) != ssize_t{sizeof signal}) continue;
    if (signal.ssi_signo != SIGCHLD) forward(signal, child);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<void> make_timeline(const std::string& directory, const std::string& file) {
  const Result<TraceParts> found = find_trace_parts(directory);
  if (!found) return found.error();
  if (!found->unread.empty()) return found->unread.front().error;
  if (found->parts.empty()) {
    return Error(Code::not_found, "the program has opened no soft ConnectX: there is no timeline");
  }
  return write_timeline_file(found->parts, file, kTraceSpeaker);
}

}  // namespace

int verbs_failed(const std::string& what, int status) {
  std::cerr << "gdakit verbs: " << what << '\n';
  return status;
}

Result<Variables> verbs_variables(const VerbsOptions& options) {
  const Result<uverbs::Spec> spec = uverbs::Spec::parse(
      "nics=" + std::to_string(options.nics) + ",model=" + std::to_string(options.model) +
      ",link=" + options.link + (options.address.empty() ? "" : ",address=" + options.address) +
      ",fabric=" + options.fabric);
  if (!spec) return spec.error();
  const Result<std::string> library = find_library();
  if (!library) return library.error();
  const Result<uverbs::Failures> failures = failures_of(options);
  if (!failures) return failures.error();
  if (const Result<void> fit = check_ports(*spec, *failures); !fit) return fit.error();
  const Result<std::string> folder = make_folders(*spec, *failures);
  if (!folder) return folder.error();
  const char* const preloaded = std::getenv("LD_PRELOAD");
  const std::string others = preloaded == nullptr ? "" : std::string(":") + preloaded;
  Variables variables{{"LD_PRELOAD", *library + others},
                      {uverbs::kSpecVariable, spec->text()},
                      {uverbs::kSysfsVariable, *folder}};
  // Those of a command around this one are not this one's.
  if (!failures->empty() || std::getenv(uverbs::kFailVariable) != nullptr) {
    variables.emplace_back(uverbs::kFailVariable, failures->text());
  }
  if (const Result<void> added = add_wire_variables(options, variables); !added) {
    return added.error();
  }
  return variables;
}

bool has_soft_nics() { return std::getenv(uverbs::kSpecVariable) != nullptr; }

std::string failures_help() {
  constexpr std::size_t kIndent = 2, kColumn = 32;
  std::string text;
  for (const uverbs::FailureRow& row : uverbs::failure_rows()) {
    const std::string form = std::string(row.name) + "=" + std::string(row.value);
    text += std::string(kIndent, ' ') + form;
    text += form.size() < kColumn - kIndent ? std::string(kColumn - kIndent - form.size(), ' ')
                                            : "\n" + std::string(kColumn, ' ');
    text += std::string(row.what) + '\n';
  }
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

int become_program(const std::vector<std::string>& command, const Variables& variables) {
  set(variables);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  return verbs_failed(command[0] + ": " + std::strerror(error),
                      error == ENOENT ? kNotFound : kNotExecutable);
}

int run_traced(const std::vector<std::string>& command, Variables variables,
               const std::string& file) {
  const Result<void> possible = try_to_write_private(file, "timelines");
  if (!possible) return verbs_failed("--trace: " + possible.error().message(), kFailed);
  auto directory = JobDirectory::open("", "trace");
  if (!directory) return verbs_failed("--trace: " + directory.error().message(), kFailed);
  variables.emplace_back("GDAKIT_TRACE", directory->path());
  const Result<Signals> signals = take_over_signals();
  if (!signals) return verbs_failed(signals.error().message(), kFailed);
  const pid_t child = ::fork();
  if (child < 0) return verbs_failed("fork: " + std::string(std::strerror(errno)), kFailed);
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &signals->before, nullptr);
    ::_exit(become_program(command, variables));
  }
  const int status = wait_for_program(child, *signals);
  const Result<void> made = make_timeline(directory->path(), file);
  if (made) return status;
  return verbs_failed("--trace: " + made.error().message(), status == 0 ? kFailed : status);
}

}  // namespace gdakit::tools
