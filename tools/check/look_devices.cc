// Steps device and atomics: what each ConnectX lets this user do.
#include <cerrno>
#include <set>

#include "core/base/hex.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

std::string without(const Surroundings& surroundings, const std::string& name) {
  if (surroundings.own_nics().size() < 2) return "the soft NIC: GDAKIT_BACKEND=softnic";
  return "the other NICs: GDAKIT_HCA_LIST=^" + name;
}

Finding refused_open(const Surroundings& surroundings, const mlx5::NicLook& nic) {
  const std::string node = "/dev/infiniband/" + nic.node;
  Finding finding{.on = nic.name,
                  .tried = "a context with DEVX",
                  .answer = answer_text(nic.open.said, nic.open.code),
                  .proof = "ls -l " + node,
                  .otherwise = without(surroundings, nic.name)};
  switch (nic.open.code) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      finding.cause = "this container or mount namespace has no node for the NIC";
      finding.remedy = "docker run --device=" + node;
      break;
    case EACCES:
    case EPERM:
      finding.cause = "the node's mode keeps this user out, or a container's limits forbid DEVX";
      finding.remedy = "mode 0666 for the node; in a container --device=" + node +
                       " and --cap-add=IPC_LOCK; --privileged, once, shows whether it is the "
                       "container";
      break;
    case EINVAL:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      finding.cause = "the kernel's mlx5_ib or the NIC's firmware has no DEVX";
      finding.proof = "uname -r; cat /sys/class/infiniband/" + nic.name + "/fw_ver";
      finding.remedy = "Linux 5.7 or later, or MLNX_OFED; newer firmware";
      break;
    default:
      finding.cause = "not known";
      finding.proof = "dmesg | grep mlx5";
      finding.remedy = "what these messages name";
  }
  return finding;
}

Finding unknown_attributes(const Surroundings& surroundings, const mlx5::NicLook& nic) {
  return {.on = nic.name,
          .tried = "its firmware, limits and ports (ibv_query_device)",
          .answer = answer_text(nic.attributes.said, nic.attributes.code),
          .cause = "the driver does not get through to the NIC",
          .proof = "dmesg | grep mlx5",
          .remedy = "what these messages name; a reset of the device, or of the host",
          .otherwise = without(surroundings, nic.name)};
}

// Dedicated pages are newer than many a distribution's libmlx5, and queues may share one.
void judge_pages(const Surroundings& surroundings, const mlx5::NicLook& nic, StepReport& report) {
  if (nic.dedicated_page.ok() || nic.uncached_page.ok()) return;
  const bool combines = nic.blueflame_page.ok();
  report.add({.verdict = combines ? Verdict::warning : Verdict::failed,
              .on = nic.name,
              .tried = "pages of doorbell registers: of each type one",
              .answer = answer_text(nic.dedicated_page.said, nic.dedicated_page.code) + "; " +
                        answer_text(nic.uncached_page.said, nic.uncached_page.code) + "; " +
                        (combines ? "type BF can be had"
                                  : answer_text(nic.blueflame_page.said, nic.blueflame_page.code)),
              .cause =
                  "the kernel is older than 5.7, or a container without privileges is refused what "
                  "DEVX needs",
              .proof = "uname -r; dmesg | grep mlx5",
              .remedy = "a newer kernel or MLNX_OFED; try the container once with --privileged",
              .otherwise = combines ? "doorbells in write-combining pages, which PEs then take by "
                                      "themselves; gdakit has never rung a real ConnectX there"
                                    : without(surroundings, nic.name)});
}

Finding no_connectx(const Surroundings& surroundings) {
  std::vector<std::string> others;
  for (const mlx5::NicLook& nic : *surroundings.nics) {
    if (nic.is_connectx) continue;
    const std::string vendor =
        surroundings.tree.read("/sys/class/infiniband/" + nic.name + "/device/vendor")
            .value_or("unknown");
    others.push_back(nic.name + " (vendor " + vendor + ")");
  }
  const bool all_out = others.size() < surroundings.nics->size();
  return {.tried = "a ConnectX among the devices of libibverbs",
          .answer = all_out ? "GDAKIT_HCA_LIST=" + surroundings.options.hca_list + " allows none"
                    : others.empty() ? "libibverbs lists no device"
                                     : "there are only " + joined(others),
          .cause = all_out          ? "the list leaves all out"
                   : others.empty() ? "the host has no ConnectX, or its driver is not loaded"
                                    : "GPU threads of gdakit post to ConnectX NICs alone",
          .proof = all_out ? "ibv_devices" : "lspci -nn -d 15b3:",
          .remedy = all_out ? "unset GDAKIT_HCA_LIST, or name a NIC of ibv_devices"
                            : "a ConnectX (vendor 0x15b3), and modprobe mlx5_ib",
          .otherwise = "the soft NIC: GDAKIT_BACKEND=softnic"};
}

std::string described(const mlx5::NicLook& nic) {
  return nic.name + ": part " + std::to_string(nic.part) + ", firmware " + nic.firmware +
         (nic.dedicated_page.ok()   ? ", a doorbell page for each queue"
          : nic.uncached_page.ok()  ? ", a doorbell page for all queues"
          : nic.blueflame_page.ok() ? ", write-combining doorbell pages alone"
                                    : ", no doorbell page") +
         (nic.lacks_dc.empty() ? ", queues of DC" : ", no queues of DC") +
         (nic.has_recordless ? ", queues without doorbell records" : "");
}

// What the options ask for and not all firmware has.
void judge_queues(const Surroundings& surroundings, const mlx5::NicLook& nic, StepReport& report) {
  const Options& options = surroundings.options;
  if (options.queue_type == QueueType::dc && !nic.lacks_dc.empty()) {
    report.add(
        {.on = nic.name,
         .tried = "queues of DC (GDAKIT_QUEUE_TYPE=dc): targets, and atomics of 4 and 8 bytes",
         .answer = nic.lacks_dc,
         .cause = "an older ConnectX, or a virtual function whose firmware keeps DC from it",
         .proof = "cat /sys/class/infiniband/" + nic.name + "/fw_ver",
         .remedy = "GDAKIT_QUEUE_TYPE=rc",
         .otherwise = without(surroundings, nic.name)});
  }
  if (!options.doorbell_records && !nic.has_recordless) {
    report.add({.on = nic.name,
                .tried = "queues without doorbell records (GDAKIT_DOORBELL_RECORDS=off)",
                .answer = "its firmware does not say that it has them (send_dbr_mode_no_dbr_ext)",
                .cause = "a NIC before ConnectX-8, or its firmware",
                .proof = "cat /sys/class/infiniband/" + nic.name + "/fw_ver",
                .remedy = "GDAKIT_DOORBELL_RECORDS=on",
                .otherwise = without(surroundings, nic.name)});
  }
}

std::string atomics_text(const mlx5::NicLook& nic) {
  return "operations " + hex_number(nic.atomic_operations) + ", sizes " +
         hex_number(nic.atomic_sizes) + (nic.swaps_fetched ? ", fetched big-endian" : "");
}

Finding missing_atomics(const Surroundings& surroundings, const mlx5::NicLook& nic,
                        const std::string& seen) {
  return {.on = nic.name,
          .tried = "QUERY_HCA_CAP of its atomics",
          .answer = nic.atomics.ok()
                        ? seen + "; wanted are operations 0xf and sizes 0xc (4 and 8 bytes)"
                        : answer_text(nic.atomics.said, nic.atomics.code),
          .cause = "the firmware's setting of PCIe atomics switches them off",
          .proof = "mlxconfig -d " + nic.name + " q PCI_ATOMIC_MODE",
          .remedy = "mlxconfig -d " + nic.name +
                    " set PCI_ATOMIC_MODE to one with extended atomics, and a cold reset, by "
                    "an administrator",
          .otherwise = without(surroundings, nic.name)};
}

Finding swapping_atomics(const Surroundings& surroundings, const mlx5::NicLook& nic,
                         const std::string& seen) {
  return {.on = nic.name,
          .tried = "QUERY_HCA_CAP of its atomics, in the order of bytes in which they answer",
          .answer = seen + ": atomic_req_8B_endianness_mode is 0, where 1 is wanted",
          .cause =
              "the driver sets that mode when it finds a NIC that has it; the NIC, its firmware or "
              "its driver is too old",
          .proof = "cat /sys/class/infiniband/" + nic.name + "/fw_ver",
          .remedy = "newer firmware, or a newer kernel or MLNX_OFED",
          .otherwise = without(surroundings, nic.name)};
}

}  // namespace

StepReport look_at_devices(const Surroundings& surroundings) {
  if (!surroundings.libraries) return skipped(surroundings.why_no_nic());
  StepReport report;
  if (!surroundings.nics) {
    const Error& error = surroundings.nics.error();
    report.add({.tried = "the list of RDMA devices",
                .answer = answer_text(error.message(), error.system_code()),
                .cause = "the kernel's part, ib_uverbs and mlx5_ib, is not loaded",
                .proof = "lsmod | grep -e ib_uverbs -e mlx5_ib",
                .remedy = "modprobe mlx5_ib",
                .otherwise = "the soft NIC: GDAKIT_BACKEND=softnic"});
    return report;
  }
  if (surroundings.own_nics().empty()) report.add(no_connectx(surroundings));
  std::set<std::string> firmware;
  for (const mlx5::NicLook* nic : surroundings.own_nics()) {
    if (!nic->open.ok()) {
      report.add(refused_open(surroundings, *nic));
      continue;
    }
    if (nic->attributes.failed()) {
      report.add(unknown_attributes(surroundings, *nic));
      continue;
    }
    report.say(described(*nic));
    firmware.insert(nic->firmware);
    judge_pages(surroundings, *nic, report);
    judge_queues(surroundings, *nic, report);
  }
  report.facts["firmware"] = joined({firmware.begin(), firmware.end()});
  report.facts["NICs"] = std::to_string(surroundings.own_nics().size());
  return report;
}

StepReport look_at_atomics(const Surroundings& surroundings) {
  StepReport report;
  for (const mlx5::NicLook* nic : surroundings.own_nics()) {
    if (!nic->open.ok()) continue;
    const std::string seen = atomics_text(*nic);
    report.say(nic->name + ": " + (nic->atomics.ok() ? seen : "not told"));
    if (!nic->atomics.ok() || !nic->has_atomics()) {
      report.add(missing_atomics(surroundings, *nic, seen));
    } else if (nic->swaps_fetched) {
      report.add(swapping_atomics(surroundings, *nic, seen));
    }
  }
  return report.summary.empty() ? skipped(surroundings.why_no_nic()) : report;
}

}  // namespace gdakit::tools::check
