#include "backends/softnic/uverbs/device_requests.h"

#include "backends/softnic/uverbs/device.h"
#include "core/base/wall_clock.h"
#include "core/host/pe_counters.h"

namespace gdakit::softnic::uverbs {
namespace {

std::string state_of(Device& device) {
  const NicCount count = device.nic().count();
  return "device=" + device.identity().name() + " port=" + (device.port().is_up() ? "up" : "down") +
         " qps=" + std::to_string(count.queues.size()) +
         " packets_sent=" + std::to_string(count.nic.packets_sent) +
         " packets_received=" + std::to_string(count.nic.packets_received) +
         " faults=" + device.port().faults();
}

std::string counters_of(Device& device) {
  const NicCount count = device.nic().count();
  PeCounters counters{.pe = static_cast<int>(device.place()),
                      .started_ms = device.opened_ms(),
                      .sampled_ms = wall_ms(),
                      .nic = count.nic};
  for (const QueueCount& queue : count.queues) {
    counters.queues.push_back({.number = queue.number, .counters = queue.counters});
  }
  return prometheus_text({&counters, 1});
}

}  // namespace

Result<std::string> answer_request(Device& device, const std::string& request) {
  const std::size_t blank = request.find(' ');
  const std::string verb = request.substr(0, blank);
  const std::string rest = blank == std::string::npos ? "" : request.substr(blank + 1);
  if (request == "state") return state_of(device);
  if (request == "counters") return counters_of(device);
  if (verb == "port" && (rest == "up" || rest == "down")) {
    device.set_port(rest == "up");
    return std::string();
  }
  if (request == "gids renumber") {
    device.renumber_gids();
    return std::string();
  }
  if (verb != "faults") {
    return Error(Code::invalid_argument,
                 "\"" + request +
                     "\": ask for state, counters, port up, port down, gids renumber or faults");
  }
  const Result<void> set = device.port().set_faults(device.nic(), rest);
  if (!set) return set.error();
  return std::string();
}

}  // namespace gdakit::softnic::uverbs
