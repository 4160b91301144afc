#include "backends/softnic/uverbs/sysfs.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

namespace fs = std::filesystem;

std::string hex(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%04x", value);
  return text;
}

// Four digits by four: 0c42:a103:0000:0001.
std::string guid_text(std::uint64_t guid) {
  char text[24];
  std::snprintf(text, sizeof text, "%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xffff),
                static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
  return text;
}

std::string gid_text(const Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < gid.size(); i += 2) {
    char group[8];
    std::snprintf(group, sizeof group, "%s%02x%02x", i == 0 ? "" : ":", gid[i], gid[i + 1]);
    text += group;
  }
  return text;
}

class Writer {
 public:
  Writer(fs::path root, fs::path lies_at) : root_(std::move(root)), lies_at_(std::move(lies_at)) {}

  void file(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream out(root_ / path);
    out << text << '\n';
    if (!out.flush()) throw fs::filesystem_error("cannot write", root_ / path, std::error_code());
  }
  // A link that says the whole way: one that follows it by itself, step by step, leaves the paths
  // that are answered in the place of /sys.
  void link(const fs::path& path, const fs::path& target) {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(lies_at_ / target, root_ / path);
  }

 private:
  fs::path root_;
  fs::path lies_at_;  // in the end
};

void write_pci(Writer& writer, const fs::path& at, const Identity& identity) {
  const unsigned device = identity.model().pci_device;
  char modalias[80];
  std::snprintf(modalias, sizeof modalias, "pci:v000015B3d%08Xsv000015B3sd00000007bc02sc07i00",
                device);
  writer.file(at / "modalias", modalias);
  writer.file(at / "vendor", "0x15b3");
  writer.file(at / "device", hex(device));
  writer.file(at / "subsystem_vendor", "0x15b3");
  writer.file(at / "subsystem_device", "0x0007");
  writer.file(at / "class", "0x020700");
  writer.file(at / "numa_node", "0");
  writer.file(at / "local_cpus", "ffffffff");
  writer.file(at / "local_cpulist", "0-31");
  writer.file(at / "current_link_speed", "16.0 GT/s PCIe");
  writer.file(at / "max_link_speed", "16.0 GT/s PCIe");
  writer.file(at / "current_link_width", "16");
  writer.file(at / "max_link_width", "16");
}

void write_port(Writer& writer, const fs::path& at, const Identity& identity) {
  const bool ethernet = identity.link() == LinkLayer::ethernet;
  writer.file(at / "state", "4: ACTIVE");
  writer.file(at / "phys_state", "5: LinkUp");
  writer.file(at / "link_layer", ethernet ? "Ethernet" : "InfiniBand");
  writer.file(at / "rate", identity.model().rate);
  writer.file(at / "lid", hex(ethernet ? 0 : identity.lid()));
  writer.file(at / "sm_lid", ethernet ? "0x0" : "0x1");
  writer.file(at / "sm_sl", "0");
  writer.file(at / "lid_mask_count", "0");
  writer.file(at / "cap_mask", ethernet ? "0x04010000" : "0x00010000");
  writer.file(at / "pkeys/0", "0xffff");
  for (int i = 0; i < identity.gids(); ++i) {
    const std::string number = std::to_string(i);
    writer.file(at / "gids" / number, gid_text(identity.gid(i)));
    if (!ethernet) continue;
    const bool second = identity.gid_type(i) == 2;
    writer.file(at / "gid_attrs/types" / number, second ? "RoCE v2" : "IB/RoCE v1");
    writer.file(at / "gid_attrs/ndevs" / number, identity.interface());
  }
}

void write_nic(Writer& writer, const Identity& identity) {
  const fs::path pci = fs::path("devices/pci0000:00") / identity.pci_address();
  const fs::path verbs = pci / "infiniband_verbs" / identity.file_name();
  const fs::path nic = pci / "infiniband" / identity.name();
  write_pci(writer, pci, identity);
  writer.file(verbs / "ibdev", identity.name());
  writer.file(verbs / "abi_version", "1");
  writer.file(verbs / "dev",
              std::to_string(kDeviceMajor) + ":" + std::to_string(device_minor(identity.index())));
  writer.link(verbs / "device", pci);
  writer.file(nic / "node_type", "1: CA");
  writer.file(nic / "node_guid", guid_text(identity.guid()));
  writer.file(nic / "sys_image_guid", guid_text(identity.guid()));
  writer.file(nic / "node_desc", "gdakit " + identity.name());
  writer.file(nic / "board_id", identity.model().board_id);
  writer.file(nic / "fw_ver", identity.model().firmware);
  writer.file(nic / "hca_type", identity.model().hca_type);
  writer.file(nic / "hw_rev", "0");
  writer.link(nic / "device", pci);
  write_port(writer, nic / "ports/1", identity);
  writer.link(fs::path("class/infiniband_verbs") / identity.file_name(), verbs);
  writer.link(fs::path("class/infiniband") / identity.name(), nic);
}

// What it is of: changed whenever the files change.
std::string folder_name(const Spec& spec) {
  Spec rest = spec;
  rest.fabric.clear();
  rest.address.clear();
  const std::string text = rest.text();
  std::string name = "2-" + text.substr(0, text.rfind(','));
  for (const UdpAddress& address : spec.reached_at) name += "," + address.text();
  return name;
}

// The user's own folder of such folders. Nobody else can have written there.
Result<fs::path> own_folder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return Error(Code::not_found, "TMPDIR is no folder: " + error.message());
  const fs::path path = temporary / ("gdakit-verbs-" + std::to_string(::getuid()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno(path.string() + " (set TMPDIR)", errno);
  }
  struct stat status {};
  const bool read = ::lstat(path.c_str(), &status) == 0;
  if (read && S_ISDIR(status.st_mode) && status.st_uid == ::getuid() &&
      (status.st_mode & 022) == 0) {
    return path;
  }
  return Error(Code::permission_denied,
               path.string() + " is not a folder of this user alone; remove it, or set TMPDIR");
}

}  // namespace

Result<std::string> sysfs_folder(const Spec& spec) {
  const Result<fs::path> own = own_folder();
  if (!own) return own.error();
  const fs::path wanted = *own / folder_name(spec);
  std::error_code error;
  if (fs::exists(wanted, error)) return wanted.string();
  std::string made = (*own / "new-XXXXXX").string();
  if (::mkdtemp(made.data()) == nullptr) return Error::from_errno(made, errno);
  Result<void> done = write_sysfs(made, spec, wanted.string());
  if (done && ::rename(made.c_str(), wanted.c_str()) == 0) return wanted.string();
  fs::remove_all(made, error);
  // Another one was faster.
  if (done && fs::exists(wanted, error)) return wanted.string();
  return done ? Error::from_errno(wanted.string(), errno) : done.error();
}

Result<void> write_sysfs(const std::string& folder, const Spec& spec, const std::string& lies_at) {
  try {
    Writer writer(folder, lies_at);
    writer.file("class/infiniband_verbs/abi_version", "6");
    writer.file("class/infiniband_mad/abi_version", "5");
    for (int index = 0; index < spec.nics; ++index) write_nic(writer, Identity(spec, index));
    return {};
  } catch (const fs::filesystem_error& error) {
    return Error(Code::system, std::string("the folder that stands in for /sys: ") + error.what());
  }
}

}  // namespace gdakit::softnic::uverbs
