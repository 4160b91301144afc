#include "backends/mlx5/nic_choice.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/pci_distance.h"

namespace gdakit::mlx5 {
namespace {

Error too_few(const std::vector<DeviceReport>& reports, std::size_t usable, std::size_t wanted) {
  std::string reasons;
  for (const DeviceReport& report : reports) {
    if (report.usable()) continue;
    reasons += (reasons.empty() ? ": " : "; ") + report.name + ": " + report.sentence;
  }
  if (usable == 0) return Error(Code::unavailable, "no RDMA NIC can be used" + reasons);
  return Error(Code::unavailable, "GDAKIT_NICS_PER_PE=" + std::to_string(wanted) + ", where " +
                                      std::to_string(usable) + " of this host's " +
                                      std::to_string(reports.size()) +
                                      " RDMA NICs can be used; lower GDAKIT_NICS_PER_PE" +
                                      (reasons.empty() ? "" : ". Those that cannot" + reasons));
}

std::string reasons_of(const std::vector<DeviceReport>& ports) {
  std::string reasons;
  for (const DeviceReport& port : ports) reasons += (reasons.empty() ? "" : "; ") + port.sentence;
  return reasons;
}

// What the map says must be; that another NIC is near is no comfort.
Result<ChosenNic> take_mapped(const DeviceList& present, const NicWish& wish,
                              const HcaList& entry) {
  const std::string who = "GDAKIT_HCA_MAP gives the PE of local rank " +
                          std::to_string(wish.local_rank) + " the NIC " + entry.text();
  std::string names;
  for (ibv_device* const device : present.devices()) {
    const std::string name = name_of(present.libraries(), device);
    names += (names.empty() ? "" : ", ") + name;
    if (!entry.unknown({name}).empty()) continue;
    const Result<std::vector<DeviceReport>> ports =
        judge_device(present.libraries(), device, entry, wish.gid, "GDAKIT_HCA_MAP");
    if (!ports) return ports.error();
    const auto usable = std::ranges::find_if(*ports, &DeviceReport::usable);
    if (usable != ports->end()) return ChosenNic{device, *usable, "by GDAKIT_HCA_MAP"};
    return Error(Code::unavailable, who + ", which cannot be used: " + reasons_of(*ports));
  }
  return Error(Code::not_found, who + ", where this host has " + (names.empty() ? "none" : names));
}

Result<std::vector<ChosenNic>> take_all_mapped(const DeviceList& present, const NicWish& wish) {
  const std::string misfit = wish.map.misfit(wish.count);
  if (!misfit.empty()) return Error(Code::invalid_argument, misfit);
  std::vector<ChosenNic> taken;
  for (const HcaList& entry : wish.map.of(wish.local_rank)) {
    Result<ChosenNic> nic = take_mapped(present, wish, entry);
    if (!nic) return nic.error();
    taken.push_back(std::move(*nic));
  }
  return taken;
}

// NICs that can be used: the first usable ports of all devices, then the second ones, and so on.
// Ports of one device have one PCI link, so that those of different devices are taken first.
std::vector<DeviceReport> usable_ones(const std::vector<DeviceReport>& reports) {
  std::map<std::size_t, std::size_t> ports;  // so far, by device
  std::multimap<std::size_t, DeviceReport> sorted;
  for (const DeviceReport& report : reports) {
    if (report.usable()) sorted.emplace(ports[report.device]++, report);
  }
  std::vector<DeviceReport> usable;
  for (auto& [nth, report] : sorted) usable.push_back(std::move(report));
  return usable;
}

// NICs that are as near to a GPU as each other, by their places in the list.
using Places = std::vector<std::size_t>;
using ByDistance = std::map<Distance, Places>;
ByDistance sorted_by_distance(const std::string& gpu, const DeviceList& present,
                              const std::vector<DeviceReport>& nics,
                              const std::filesystem::path& system) {
  ByDistance sorted;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const ibv_device* const device = present.devices()[nics[i].device];
    const auto folder = std::filesystem::path(text_in(device->ibdev_path)) / "device";
    sorted[distance_between(folder, gpu, system)].push_back(i);
  }
  return sorted;
}

std::string reason(const Distance& distance, std::size_t place, std::size_t count,
                   const std::string& gpu) {
  std::string text;
  if (!gpu.empty()) text = words_of(distance.apart) + (" GPU " + gpu);
  if (count == 1) return text.empty() ? "the only one" : text;
  return text + (text.empty() ? "" : ", ") + "number " + std::to_string(place + 1) + " of " +
         std::to_string(count) + " that are as near";
}

// Of NICs that are as near, where who takes farther ones than the nearest begins to look: behind
// these, so that PEs with other nearest ones take others.
std::size_t beginning(const Places& places, const Places& nearest) {
  if (places == nearest) return 0;
  return static_cast<std::size_t>(std::ranges::upper_bound(places, nearest.back()) -
                                  places.begin());
}

// One that a PE takes.
struct Taken {
  Distance distance;
  std::size_t place = 0;  // among those that are as near
  std::size_t as_near = 0;
  std::size_t nic = 0;
};

// The nearest ones and, of those that are as near, the ones that the fewest PEs have taken. `users`
// counts the PEs of each NIC.
std::vector<Taken> take(const ByDistance& near_first, std::size_t count,
                        std::vector<std::size_t>& users) {
  std::vector<Taken> taken;
  const Places& nearest = near_first.begin()->second;
  for (const auto& [distance, places] : near_first) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < places.size(); ++i) {
      order.push_back((beginning(places, nearest) + i) % places.size());
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t place) { return users[places[place]]; });
    order.resize(std::min(count - taken.size(), places.size()));
    for (const std::size_t place : order) {
      taken.push_back({distance, place, places.size(), places[place]});
      ++users[places[place]];
    }
  }
  return taken;
}

}  // namespace

Result<std::vector<ChosenNic>> choose_nics(const DeviceList& present, const NicWish& wish) {
  if (!wish.map.empty()) return take_all_mapped(present, wish);
  const Result<std::vector<DeviceReport>> reports = judge_devices(present, wish.list, wish.gid);
  if (!reports) return reports.error();
  const std::vector<DeviceReport> nics = usable_ones(*reports);
  if (nics.empty() || nics.size() < wish.count) return too_few(*reports, nics.size(), wish.count);
  const auto sorted = [&](const std::string& gpu) {
    return sorted_by_distance(gpu, present, nics, wish.system);
  };
  std::vector<std::size_t> users(nics.size());
  for (const std::string& gpu : wish.gpus_before) take(sorted(gpu), wish.count, users);
  std::vector<ChosenNic> chosen;
  for (const Taken& taken : take(sorted(wish.gpu), wish.count, users)) {
    const DeviceReport& nic = nics[taken.nic];
    chosen.push_back({present.devices()[nic.device], nic,
                      reason(taken.distance, taken.place, taken.as_near, wish.gpu)});
  }
  return chosen;
}

}  // namespace gdakit::mlx5
