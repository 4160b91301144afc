#include "backends/mlx5/devices.h"

#include <cerrno>

#include "backends/mlx5/judge.h"

namespace gdakit::mlx5 {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<std::vector<DeviceReport>> judge_all(const Libraries& libraries, ibv_device** devices,
                                            int count, const HcaList& list) {
  std::vector<DeviceReport> reports;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    reports.push_back(judge_device(libraries, devices[i], list));
    names.push_back(reports.back().name);
  }
  const std::vector<std::string> unknown = list.unknown(names);
  if (unknown.empty()) return reports;
  return Error(Code::not_found, "GDAKIT_HCA_LIST names " + joined(unknown) +
                                    ", where this host has " + joined(names));
}

}  // namespace

bool built_in() { return true; }

Result<std::vector<DeviceReport>> report_devices(const HcaList& list) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  int count = 0;
  errno = 0;
  ibv_device** const devices = (*libraries)->get_device_list(&count);
  if (devices == nullptr) {
    const Error why = Error::from_errno("ibv_get_device_list", errno);
    return Error(Code::unavailable,
                 why.message() +
                     "; load the kernel's modules ib_uverbs and mlx5_ib (`lsmod | grep mlx5_ib` "
                     "shows them)",
                 why.system_code());
  }
  Result<std::vector<DeviceReport>> reports =
      count != 0 ? judge_all(**libraries, devices, count, list)
                 : Error(Code::unavailable,
                         "this host has no RDMA NIC that libibverbs knows: `ibv_devices` lists "
                         "none. `gdakit verbs -- COMMAND` gives a command soft ones");
  (*libraries)->free_device_list(devices);
  return reports;
}

}  // namespace gdakit::mlx5
