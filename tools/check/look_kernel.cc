// Steps modules and nodes: what the kernel has to bring.
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr const char* kSoftNic = "the soft NIC: GDAKIT_BACKEND=softnic, or `gdakit verbs -- ...`";

struct KernelVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

KernelVersion version_of(const std::string& release) {
  KernelVersion version;
  if (std::sscanf(release.c_str(), "%d.%d", &version.major, &version.minor) != 2) return {};
  return version;
}

void judge_kernel(const Tree& tree, StepReport& report) {
  const std::string release = tree.read("/proc/sys/kernel/osrelease").value_or("");
  report.facts["kernel"] = release;
  report.say("Linux " + (release.empty() ? "of unknown release" : release));
  const KernelVersion version = version_of(release);
  if (version == KernelVersion{} || version >= KernelVersion{5, 7}) return;
  report.add({.verdict = Verdict::warning,
              .tried = "the kernel's release, /proc/sys/kernel/osrelease",
              .answer = release + "; wanted is 5.7 or later",
              .cause = "the kernel's own mlx5_ib gives doorbell pages that are not cached from 5.7 "
                       "on; a vendor's kernel or MLNX_OFED may bring them to an older one",
              .proof = "gdakit check --only device",
              .remedy = "a newer kernel, or MLNX_OFED, if step device fails",
              .otherwise = "all of it, if step device is ok"});
}

StepReport with_missing(StepReport report, const std::vector<std::string>& missing) {
  report.add({.tried = "the kernel's modules, in /sys/module",
              .answer = "not loaded: " + joined(missing),
              .cause = "mlx5_ib brings the others in; nothing has loaded it, or this kernel has "
                       "none for it",
              .proof = "lsmod | grep -e mlx5 -e ib_",
              .remedy = "modprobe mlx5_ib, by an administrator, on the host and not in a container",
              .otherwise = kSoftNic});
  return report;
}

bool has_nvidia_device(const Tree& tree) {
  for (const std::string& device : tree.list("/sys/bus/pci/devices")) {
    const std::string at = "/sys/bus/pci/devices/" + device;
    if (tree.read(at + "/vendor") == "0x10de" &&
        tree.read(at + "/class").value_or("").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

Finding refused_node(const std::string& node, int code) {
  Finding finding{.on = node,
                  .tried = "open(\"" + node + "\", O_RDWR)",
                  .answer = code_text(code),
                  .otherwise = kSoftNic};
  const bool absent = code == ENOENT || code == ENXIO || code == ENODEV;
  finding.proof = "ls -l " + node;
  if (absent) {
    finding.cause = "the kernel has the device, but this container or mount namespace has no node";
    finding.remedy = "pass it in: docker run --device=" + node + ", or what your launcher has";
  } else if (code == EACCES || code == EPERM) {
    finding.cause =
        "the node's mode or owner keeps this user out, or the container's device "
        "cgroup does";
    finding.remedy =
        "mode 0666 by a udev rule (rdma-core's packages bring one); for a container "
        "--device=" +
        node;
  } else {
    finding.cause = "the driver refuses; its messages may say why";
    finding.proof = "dmesg | grep -e mlx5 -e infiniband";
    finding.remedy = "what these messages name";
  }
  return finding;
}

// nvidia0 and on, of GPUs.
bool is_gpu_node(const std::string& name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

// A container may be given some of the host's GPUs.
std::vector<std::string> gpu_nodes(const Tree& tree) {
  std::vector<std::string> nodes;
  for (const std::string& name : tree.list("/dev")) {
    if (is_gpu_node(name)) nodes.push_back("/dev/" + name);
  }
  if (nodes.empty()) nodes.emplace_back("/dev/nvidia0");
  return nodes;
}

void try_nvidia_nodes(const Tree& tree, std::vector<std::string>& opened, StepReport& report) {
  if (!tree.has("/sys/module/nvidia") && !has_nvidia_device(tree)) return;
  std::vector<std::string> nodes = gpu_nodes(tree);
  nodes.insert(nodes.begin(), {"/dev/nvidiactl", "/dev/nvidia-uvm"});
  for (const std::string& node : nodes) {
    const int code = tree.try_to_open(node);
    if (code == 0) {
      opened.push_back(node);
      continue;
    }
    Finding finding = refused_node(node, code);
    finding.verdict = Verdict::warning;
    finding.remedy =
        "NVIDIA's container runtime (docker run --gpus all); on the host "
        "nvidia-modprobe -u";
    finding.otherwise = "kernels on the CPU: GDAKIT_DEVICE=cpu";
    report.add(std::move(finding));
  }
}

// GDRCopy's, which the soft NIC alone goes by, where there is its driver.
void try_gdrcopy_node(const Tree& tree, std::vector<std::string>& opened, StepReport& report) {
  const std::string node = "/dev/gdrdrv";
  if (!tree.has("/sys/module/gdrdrv")) return;
  const int code = tree.try_to_open(node);
  if (code == 0) return opened.push_back(node);
  Finding finding = refused_node(node, code);
  finding.verdict = Verdict::warning;
  finding.otherwise = "all of it: the soft NIC goes by GDRCopy only where it can";
  report.add(std::move(finding));
}

}  // namespace

StepReport look_at_modules(const Surroundings& surroundings) {
  StepReport report;
  const Tree& tree = surroundings.tree;
  judge_kernel(tree, report);
  std::vector<std::string> loaded, missing;
  for (const char* name : {"mlx5_core", "mlx5_ib", "ib_uverbs", "ib_core"}) {
    (tree.has(std::string("/sys/module/") + name) ? loaded : missing).emplace_back(name);
  }
  for (const std::string name : {"nvidia", "nvidia_peermem", "gdrdrv"}) {
    if (!tree.has("/sys/module/" + name)) continue;
    const std::string version = tree.read("/sys/module/" + name + "/version").value_or("");
    loaded.push_back(name + (version.empty() ? "" : " " + version));
    report.facts[name] = version.empty() ? "loaded" : version;
  }
  if (!loaded.empty()) report.say(joined(loaded) + " loaded");
  const std::string ofed = tree.read("/sys/module/mlx5_core/version").value_or("");
  report.facts["mlx5_core"] = ofed.empty() ? "the kernel's own" : ofed;
  if (!ofed.empty()) report.say("mlx5_core " + ofed);
  if (missing.empty()) return report;
  // What is built into a kernel need not be in /sys/module, and is there if it answers.
  if (!surroundings.own_nics().empty()) {
    report.say(joined(missing) + " not in /sys/module, but the kernel answers: built in");
    return report;
  }
  return with_missing(std::move(report), missing);
}

StepReport look_at_nodes(const Surroundings& surroundings) {
  StepReport report;
  const Tree& tree = surroundings.tree;
  std::vector<std::string> opened;
  bool any = false;
  for (const std::string& name : tree.list("/sys/class/infiniband_verbs")) {
    if (!name.starts_with("uverbs")) continue;
    any = true;
    const std::string node = "/dev/infiniband/" + name;
    const int code = tree.try_to_open(node);
    if (code == 0) {
      opened.push_back(node);
    } else {
      report.add(refused_node(node, code));
    }
  }
  try_nvidia_nodes(tree, opened, report);
  try_gdrcopy_node(tree, opened, report);
  report.say(opened.empty() ? "none opened" : joined(opened) + " opened to read and write");
  if (any) return report;
  report.add({.tried = "the kernel's list of RDMA devices, /sys/class/infiniband_verbs",
              .answer = "it names none",
              .cause = "ib_uverbs is not loaded, this network namespace has no RDMA device, or the "
                       "host has no RDMA NIC",
              .proof = "lspci -d 15b3: ; rdma system",
              .remedy =
                  "modprobe ib_uverbs mlx5_ib; with `rdma system` in exclusive mode, move the "
                  "device into the container's network namespace or use the host's",
              .otherwise = kSoftNic});
  return report;
}

}  // namespace gdakit::tools::check
