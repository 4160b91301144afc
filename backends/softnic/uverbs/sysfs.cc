#include "backends/softnic/uverbs/sysfs.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/node_modules.h"
#include "backends/softnic/uverbs/sysfs_pci.h"
#include "backends/softnic/uverbs/sysfs_tree.h"

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

const char* state_text(std::uint8_t state) {
  constexpr std::array kStates = {"0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE"};
  return kStates.at(state);
}

void write_port(SysfsTree& tree, const fs::path& nic, const Identity& identity, unsigned port) {
  const fs::path at = nic / "ports" / std::to_string(port);
  const bool ethernet = identity.link() == LinkLayer::ethernet;
  const std::uint8_t state = identity.failures().port_states[port - 1];
  tree.file(at / "state", state_text(state));
  tree.file(at / "phys_state", state == kStateDown ? "3: Disabled" : "5: LinkUp");
  tree.file(at / "link_layer", ethernet ? "Ethernet" : "InfiniBand");
  tree.file(at / "rate", identity.model().rate);
  tree.file(at / "lid", hex(ethernet ? 0 : identity.lid(port)));
  tree.file(at / "sm_lid", ethernet ? "0x0" : "0x1");
  tree.file(at / "sm_sl", "0");
  tree.file(at / "lid_mask_count", "0");
  tree.file(at / "cap_mask", ethernet ? "0x04010000" : "0x00010000");
  tree.file(at / "pkeys/0", "0xffff");
  for (int i = 0; i < identity.gids(); ++i) {
    const std::string number = std::to_string(i);
    tree.file(at / "gids" / number, gid_text(identity.gid(i, port)));
    if (!ethernet) continue;
    const bool second = identity.gid_type(i) == 2;
    tree.file(at / "gid_attrs/types" / number, second ? "RoCE v2" : "IB/RoCE v1");
    tree.file(at / "gid_attrs/ndevs" / number, identity.interface());
  }
  const std::string& traffic_class = identity.failures().traffic_class;
  if (traffic_class.empty()) return;
  tree.file(nic / "tc" / std::to_string(port) / "traffic_class", "Global tclass=" + traffic_class);
}

void write_verbs(SysfsTree& tree, const fs::path& pci, const Identity& identity) {
  const fs::path at = pci / "infiniband_verbs" / identity.file_name();
  tree.file(at / "ibdev", identity.name());
  tree.file(at / "abi_version", "1");
  tree.file(at / "dev",
            std::to_string(kDeviceMajor) + ":" + std::to_string(device_minor(identity.index())));
  tree.link(at / "device", pci);
  tree.link(fs::path("class/infiniband_verbs") / identity.file_name(), at);
}

void write_nic(SysfsTree& tree, const Identity& identity) {
  const fs::path pci = pci_folder(identity);
  const fs::path nic = pci / "infiniband" / identity.name();
  write_pci(tree, identity);
  write_verbs(tree, pci, identity);
  tree.file(nic / "node_type", "1: CA");
  tree.file(nic / "node_guid", guid_text(identity.guid()));
  tree.file(nic / "sys_image_guid", guid_text(identity.guid()));
  tree.file(nic / "node_desc", "gdakit " + identity.name());
  tree.file(nic / "board_id", identity.model().board_id);
  tree.file(nic / "fw_ver", identity.model().firmware);
  tree.file(nic / "hca_type", identity.model().hca_type);
  tree.file(nic / "hw_rev", "0");
  tree.link(nic / "device", pci);
  for (unsigned port = 1; port <= identity.ports(); ++port) write_port(tree, nic, identity, port);
  if (identity.link() == LinkLayer::ethernet) {
    tree.file(pci / "net" / identity.interface() / "dev_port", "0");
  }
  tree.link(fs::path("class/infiniband") / identity.name(), nic);
}

void write_modules(SysfsTree& tree, const NodeModules& node) {
  for (const auto& [module, version] : node.loaded()) {
    const fs::path at = fs::path("module") / module;
    tree.file(at / "initstate", "live");
    tree.file(at / "refcnt", "1");
    if (!version.empty()) tree.file(at / "version", version);
  }
}

std::string limit(const std::optional<std::uint64_t>& most) {
  return most ? std::to_string(*most) : "max";
}

// What a control group may have of each NIC.
std::string group_limits(const Spec& spec) {
  std::string text;
  for (int index = 0; index < spec.nics; ++index) {
    const Identity identity(spec, index);
    const NicFailures& failures = identity.failures();
    text += (index == 0 ? "" : "\n") + identity.name() + " hca_handle=" + limit(failures.handles) +
            " hca_object=" + limit(failures.objects);
  }
  return text;
}

SysfsTree tree_of(const Spec& spec, const fs::path& lies_at) {
  SysfsTree tree(lies_at);
  const NodeModules modules(spec);
  if (modules.has("ib_uverbs")) tree.file("class/infiniband_verbs/abi_version", "6");
  if (modules.has("ib_core")) tree.file("class/infiniband_mad/abi_version", "5");
  tree.file("class/misc/rdma_cm/abi_version", "4");
  tree.file("class/misc/rdma_cm/dev", std::to_string(kCmMajor) + ":" + std::to_string(kCmMinor));
  for (int index = 0; modules.has("mlx5_ib") && index < spec.nics; ++index) {
    write_nic(tree, Identity(spec, index));
  }
  write_modules(tree, modules);
  tree.file("fs/cgroup/rdma.max", group_limits(spec));
  return tree;
}

// By FNV-1a, of 64 bits: texts of failures are long, and have slashes.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

std::string sysfs_folder_name(const Spec& spec) {
  Spec rest = spec;
  rest.fabric.clear();
  rest.address.clear();
  const std::string text = rest.text();
  std::string name = text.substr(0, text.rfind(','));
  for (const UdpAddress& address : spec.reached_at) name += "," + address.text();
  if (!spec.failures.empty()) name += ",fail=" + digest(spec.failures.text());
  return name;
}

namespace {

// The user's own folder of such folders. Nobody else can have written there.
Result<fs::path> own_folder() {
  std::error_code error;
  fs::path temporary = fs::temp_directory_path(error);
  if (!error) temporary = fs::absolute(temporary, error);
  if (error) return Error(Code::not_found, "TMPDIR is no folder: " + error.message());
  const fs::path path = temporary / ("gdakit-verbs-" + std::to_string(::getuid()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno(path.string() + " (set TMPDIR)", errno);
  }
  struct stat status {};
  const bool read = ::lstat(path.c_str(), &status) == 0;
  if (read && S_ISDIR(status.st_mode) && status.st_uid == ::getuid() &&
      (status.st_mode & 077) == 0) {
    return path;
  }
  return Error(Code::permission_denied,
               path.string() +
                   " is not a folder of this user alone (its owner, mode 0700, no "
                   "link); remove it, or set TMPDIR to a folder of your own");
}

// Puts the folder that was made in the place of what is there, if anything is: of another version
// of gdakit, or damaged. Programs that run find the new one by the same name.
Result<void> put_in_place(const fs::path& made, const fs::path& wanted) {
  if (::rename(made.c_str(), wanted.c_str()) == 0) return {};
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, wanted.c_str(), RENAME_EXCHANGE) == 0) {
    return {};
  }
  std::error_code error;
  fs::remove_all(wanted, error);
  if (::rename(made.c_str(), wanted.c_str()) == 0) return {};
  return Error::from_errno(wanted.string() + " (remove it, or set TMPDIR)", errno);
}

}  // namespace

Result<std::string> sysfs_folder(const Spec& spec) {
  const Result<fs::path> own = own_folder();
  if (!own) return own.error();
  const fs::path wanted = *own / sysfs_folder_name(spec);
  const SysfsTree tree = tree_of(spec, wanted);
  std::error_code error;
  try {
    if (tree.is_in(wanted)) return wanted.string();
  } catch (const fs::filesystem_error&) {
    // Written anew.
  }
  std::string made = (*own / "new-XXXXXX").string();
  if (::mkdtemp(made.data()) == nullptr) return Error::from_errno(made, errno);
  Result<void> done = write_sysfs(made, spec, wanted.string());
  if (done) done = put_in_place(made, wanted);
  fs::remove_all(made, error);
  return done ? Result<std::string>(wanted.string()) : done.error();
}

Result<void> write_sysfs(const std::string& folder, const Spec& spec, const std::string& lies_at) {
  try {
    tree_of(spec, lies_at).write(folder);
    return {};
  } catch (const fs::filesystem_error& error) {
    return Error(Code::system, std::string("the folder that stands in for /sys: ") + error.what());
  }
}

}  // namespace gdakit::softnic::uverbs
