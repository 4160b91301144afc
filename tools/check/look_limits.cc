// Step limits: how much memory may be locked, and what cgroups allow.
#include <limits>
#include <sstream>
#include <string>

#include "tools/check/needs.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr unsigned kCapabilityIpcLock = 14;
// Tables and scratch, besides the heap and the queues.
constexpr std::uint64_t kTables = std::uint64_t{1} << 20;
constexpr std::uint64_t kFewObjects = 1000;

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// What /proc/self/status says behind "name:".
std::string field_of(const std::string& status, const std::string& name) {
  std::istringstream lines(status);
  std::string word, value;
  while (lines >> word) {
    if (word == name + ":" && lines >> value) return value;
  }
  return {};
}

bool may_lock_any(const Tree& tree) {
  const std::string status = tree.read("/proc/self/status").value_or("");
  const std::string capabilities = field_of(status, "CapEff");
  // Of a user namespace of its own the kernel takes no capability for this.
  std::istringstream users(tree.read("/proc/self/uid_map").value_or(""));
  std::uint64_t inside = 0, outside = 0, count = 0;
  const bool all_users = users >> inside >> outside >> count && outside == 0 &&
                         count >= std::numeric_limits<std::uint32_t>::max();
  if (capabilities.empty() || !all_users) return false;
  return (std::stoull(capabilities, nullptr, 16) >> kCapabilityIpcLock & 1) != 0;
}

std::uint64_t queue_bytes_of_a_pe(const Surroundings& surroundings) {
  return queues_of_a_pe(surroundings) * bytes_of_a_queue(surroundings.options);
}

// The kernel counts what is locked anew for each NIC that reaches it.
std::uint64_t locked_bytes_of(const Surroundings& surroundings) {
  const Options& options = surroundings.options;
  return options.nics_per_pe *
         (options.symmetric_size + kTables + queue_bytes_of_a_pe(surroundings));
}

std::string queues_text(const Surroundings& surroundings) {
  return in_mib(queue_bytes_of_a_pe(surroundings)) + " for " +
         std::to_string(queues_of_a_pe(surroundings)) + " queues of a job of " +
         std::to_string(surroundings.pes) + " PEs";
}

void judge_locked_memory(const Surroundings& surroundings, StepReport& report) {
  const auto& limit = surroundings.locked_bytes;
  const Options& options = surroundings.options;
  const std::uint64_t wanted = locked_bytes_of(surroundings);
  if (!limit) {
    report.say("locked memory is not limited");
    return;
  }
  const std::string text = "locked memory is limited to " + in_mib(*limit);
  if (may_lock_any(surroundings.tree)) {
    report.say(text + ", which CAP_IPC_LOCK lifts");
    return;
  }
  report.say(text);
  if (*limit >= wanted) return;
  const std::string each =
      options.nics_per_pe == 1
          ? ""
          : "for each of the PE's " + std::to_string(options.nics_per_pe) + " NICs ";
  report.add({.tried = "getrlimit(RLIMIT_MEMLOCK), against the heap and queues of a PE",
              .answer = in_mib(*limit) + " (" + std::to_string(*limit) + " bytes); wanted are " +
                        in_mib(wanted) + ", of them " + each + in_mib(options.symmetric_size) +
                        " for the heap (GDAKIT_SYMMETRIC_SIZE), and more as it grows, and " +
                        queues_text(surroundings),
              .cause = "what a NIC reaches is locked; the limit of this shell, of the launcher's "
                       "daemon or of the container's is too low. IPC_LOCK does nothing for a "
                       "container's user who is not root",
              .proof = "ulimit -l",
              .remedy = "ulimit -l unlimited; systemd: LimitMEMLOCK=infinity for slurmd or "
                        "containerd; docker run --ulimit memlock=-1",
              .otherwise = "a smaller heap: GDAKIT_SYMMETRIC_SIZE; less for queues: "
                           "GDAKIT_QUEUE_TYPE=dc, GDAKIT_QUEUE_DEPTH"});
}

// The folder of this process's cgroup of a controller; "" of version 2.
std::string cgroup_folder(const Tree& tree, const std::string& controller) {
  std::istringstream lines(tree.read("/proc/self/cgroup").value_or(""));
  std::string line, unified;
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (names.find("," + controller + ",") != std::string::npos) {
      return "/sys/fs/cgroup/" + controller + path;
    }
    if (names == ",,") unified = "/sys/fs/cgroup" + path;
  }
  return unified;
}

// "mlx5_0 hca_handle=2 hca_object=2000": the number behind a name, nothing for "max".
std::optional<std::uint64_t> number_behind(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name + "=");
  if (at == std::string::npos) return std::nullopt;
  const std::string value = line.substr(at + name.size() + 1);
  if (value.empty() || value[0] < '0' || value[0] > '9') return std::nullopt;
  return std::stoull(value);
}

std::string line_of(const std::string& text, const std::string& device) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with(device + " ")) return line;
  }
  return {};
}

void judge_rdma_cgroup(const Tree& tree, StepReport& report) {
  const std::string folder = cgroup_folder(tree, "rdma");
  const std::string most = tree.read(folder + "/rdma.max").value_or("");
  const std::string now = tree.read(folder + "/rdma.current").value_or("");
  std::istringstream lines(most);
  std::string line;
  while (std::getline(lines, line)) {
    const std::string device = line.substr(0, line.find(' '));
    for (const char* kind : {"hca_handle", "hca_object"}) {
      const auto limit = number_behind(line, kind);
      if (!limit) continue;
      const auto used = number_behind(line_of(now, device), kind).value_or(0);
      const bool spent = used >= *limit;
      const bool few = *limit < (std::string_view(kind) == "hca_handle" ? 1 : kFewObjects);
      report.say(device + ": " + std::to_string(used) + " of " + std::to_string(*limit) + ' ' +
                 kind);
      if (!spent && !few) continue;
      report.add({.verdict = spent ? Verdict::failed : Verdict::warning,
                  .on = device,
                  .tried = folder + "/rdma.max, against rdma.current",
                  .answer = line + "; in use are " + std::to_string(used),
                  .cause = "the cgroup limits RDMA objects: a queue to a peer takes several, and a "
                           "creation beyond the limit fails",
                  .proof = "cat " + folder + "/rdma.max",
                  .remedy = "have the batch system or Kubernetes raise it; fewer queues: "
                            "GDAKIT_QUEUES_PER_PEER=1",
                  .otherwise = spent ? "the soft NIC: GDAKIT_BACKEND=softnic" : "smaller jobs"});
    }
  }
}

void judge_memory_cgroup(const Surroundings& surroundings, StepReport& report) {
  const Tree& tree = surroundings.tree;
  const std::string folder = cgroup_folder(tree, "memory");
  std::string file = folder + "/memory.max";
  if (!tree.has(file)) file = folder + "/memory.limit_in_bytes";
  const std::string text = tree.read(file).value_or("max");
  if (text.empty() || text[0] < '0' || text[0] > '9') return;
  const std::uint64_t limit = std::stoull(text);
  const std::uint64_t wanted =
      surroundings.options.symmetric_size + kTables + queue_bytes_of_a_pe(surroundings);
  if (limit >= wanted) return;
  report.add({.tried = file,
              .answer = in_mib(limit) + "; wanted are " + in_mib(wanted) + " for one PE",
              .cause = "the cgroup's memory is smaller than heap and queues of one PE",
              .proof = "cat " + file,
              .remedy = "ask the batch system or the container for more memory",
              .otherwise = "a smaller heap: GDAKIT_SYMMETRIC_SIZE"});
}

}  // namespace

StepReport look_at_limits(const Surroundings& surroundings) {
  StepReport report;
  judge_locked_memory(surroundings, report);
  judge_rdma_cgroup(surroundings.tree, report);
  judge_memory_cgroup(surroundings, report);
  return report;
}

}  // namespace gdakit::tools::check
