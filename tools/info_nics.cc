#include "tools/info_nics.h"

#include <iostream>
#include <sstream>
#include <utility>

#include "core/base/hca_list.h"
#include "core/base/json.h"
#include "tools/columns.h"
#include "tools/gpus.h"

namespace gdakit::tools {
namespace {

// On the last of the GPUs.
PlacedPe place(const Options& options, const std::vector<std::string>& gpus) {
  return {gpus.size() - 1, gpus.back(),
          mlx5::place_nics(options.nics_per_pe, HcaList::parse(options.hca_list).value(),
                           HcaMap::parse(options.hca_map).value(),
                           GidChoice::parse(options.gid).value(), gpus)};
}

// As one line of JSON.
template <class Write>
void print_member(const char* name, const Write& write) {
  std::ostringstream text;
  JsonWriter json(text, 0);
  write(json);
  std::string line = text.str();
  if (line.back() == '\n') line.pop_back();  // behind arrays
  std::cout << "  \"" << name << "\": " << line << ",\n";
}

void write_nics(JsonWriter& json, const NicSection& section) {
  json.begin_array();
  if (section.nics) {
    for (const mlx5::DeviceReport& nic : *section.nics) {
      json.begin_object();
      json.member("name", nic.name);
      json.member("usable", nic.usable());
      json.member("port", static_cast<unsigned>(nic.port));
      json.member("sentence", nic.sentence);
      json.end();
    }
  }
  json.end();
}

void write_placed(JsonWriter& json, const mlx5::PlacedNic& nic) {
  json.begin_object();
  json.member("name", nic.name);
  json.member("port", static_cast<unsigned>(nic.port));
  json.member("why", nic.why);
  json.end();
}

void write_map(JsonWriter& json, const NicSection& section) {
  json.begin_array();
  for (const PlacedPe& pe : section.pes) {
    json.begin_object();
    json.member("local_rank", pe.local_rank);
    json.member("gpu", pe.gpu);
    json.key("nics");
    json.begin_array();
    if (pe.nics) {
      for (const mlx5::PlacedNic& nic : *pe.nics) write_placed(json, nic);
    }
    json.end();
    json.member("no_nics_because", pe.nics ? "" : pe.nics.error().message());
    json.end();
  }
  json.end();
}

// "takes mlx5_0, port 1: by GDAKIT_HCA_MAP; mlx5_1, port 1: by GDAKIT_HCA_MAP"
std::string taken_text(const PlacedPe& pe) {
  if (!pe.nics) return "takes none: " + pe.nics.error().message();
  std::string text;
  for (const mlx5::PlacedNic& nic : *pe.nics) {
    text += (text.empty() ? "takes " : "; ") + nic.name + ", port " + std::to_string(nic.port) +
            ": " + nic.why;
  }
  return text;
}

}  // namespace

NicSection describe_nics(const Options& options, const std::vector<GpuInfo>& gpus) {
  NicSection section{mlx5::report_devices(HcaList::parse(options.hca_list).value(),
                                          GidChoice::parse(options.gid).value()),
                     {}};
  if (!section.nics) return section;
  std::vector<std::string> up_to;
  for (std::string& gpu : buses_of_pes(options, gpus)) {
    up_to.push_back(std::move(gpu));
    section.pes.push_back(place(options, up_to));
  }
  return section;
}

void print_nics(const NicSection& section) {
  std::cout << '\n' << heading("RDMA NICs") << '\n';
  if (!section.nics) std::cout << entry("none", section.nics.error().message());
  if (!section.nics) return;
  for (const mlx5::DeviceReport& nic : *section.nics) {
    std::cout << entry(nic.name, (nic.usable() ? "usable: " : "unusable: ") + nic.sentence);
  }
  for (const PlacedPe& pe : section.pes) {
    std::cout << entry("local PE " + std::to_string(pe.local_rank), taken_text(pe));
  }
}

void print_nics_json(const NicSection& section) {
  print_member("rdma_nics", [&](JsonWriter& json) { write_nics(json, section); });
  print_member("nic_map", [&](JsonWriter& json) { write_map(json, section); });
  print_member("no_rdma_nics_because", [&](JsonWriter& json) {
    json.value(section.nics ? std::string_view() : section.nics.error().message());
  });
}

}  // namespace gdakit::tools
