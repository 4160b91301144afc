#include "backends/softnic/uverbs/sysfs.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "backends/softnic/uverbs/sysfs_pci.h"
#include "backends/softnic/uverbs/sysfs_tree.h"

namespace gdakit::softnic::uverbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModulesVersion = "24.10-0.7.0";

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

void write_port(SysfsTree& tree, const fs::path& at, const Identity& identity) {
  const bool ethernet = identity.link() == LinkLayer::ethernet;
  tree.file(at / "state", "4: ACTIVE");
  tree.file(at / "phys_state", "5: LinkUp");
  tree.file(at / "link_layer", ethernet ? "Ethernet" : "InfiniBand");
  tree.file(at / "rate", identity.model().rate);
  tree.file(at / "lid", hex(ethernet ? 0 : identity.lid()));
  tree.file(at / "sm_lid", ethernet ? "0x0" : "0x1");
  tree.file(at / "sm_sl", "0");
  tree.file(at / "lid_mask_count", "0");
  tree.file(at / "cap_mask", ethernet ? "0x04010000" : "0x00010000");
  tree.file(at / "pkeys/0", "0xffff");
  for (int i = 0; i < identity.gids(); ++i) {
    const std::string number = std::to_string(i);
    tree.file(at / "gids" / number, gid_text(identity.gid(i)));
    if (!ethernet) continue;
    const bool second = identity.gid_type(i) == 2;
    tree.file(at / "gid_attrs/types" / number, second ? "RoCE v2" : "IB/RoCE v1");
    tree.file(at / "gid_attrs/ndevs" / number, identity.interface());
  }
}

void write_nic(SysfsTree& tree, const Identity& identity) {
  const fs::path pci = pci_folder(identity);
  const fs::path verbs = pci / "infiniband_verbs" / identity.file_name();
  const fs::path nic = pci / "infiniband" / identity.name();
  write_pci(tree, identity);
  tree.file(verbs / "ibdev", identity.name());
  tree.file(verbs / "abi_version", "1");
  tree.file(verbs / "dev",
            std::to_string(kDeviceMajor) + ":" + std::to_string(device_minor(identity.index())));
  tree.link(verbs / "device", pci);
  tree.file(nic / "node_type", "1: CA");
  tree.file(nic / "node_guid", guid_text(identity.guid()));
  tree.file(nic / "sys_image_guid", guid_text(identity.guid()));
  tree.file(nic / "node_desc", "gdakit " + identity.name());
  tree.file(nic / "board_id", identity.model().board_id);
  tree.file(nic / "fw_ver", identity.model().firmware);
  tree.file(nic / "hca_type", identity.model().hca_type);
  tree.file(nic / "hw_rev", "0");
  tree.link(nic / "device", pci);
  write_port(tree, nic / "ports/1", identity);
  if (identity.link() == LinkLayer::ethernet) {
    tree.file(pci / "net" / identity.interface() / "dev_port", "0");
  }
  tree.link(fs::path("class/infiniband_verbs") / identity.file_name(), verbs);
  tree.link(fs::path("class/infiniband") / identity.name(), nic);
}

// The kernel's part of it, as MLNX_OFED numbers it: modules of Linux itself say no version.
void write_modules(SysfsTree& tree) {
  for (const std::string_view module : kModules) {
    const fs::path at = fs::path("module") / module;
    tree.file(at / "initstate", "live");
    tree.file(at / "refcnt", "1");
    if (module.starts_with("mlx5_")) tree.file(at / "version", kModulesVersion);
  }
}

// A control group that limits nothing.
std::string group_limits(const Spec& spec) {
  std::string text;
  for (int index = 0; index < spec.nics; ++index) {
    text +=
        (index == 0 ? "" : "\n") + Identity(spec, index).name() + " hca_handle=max hca_object=max";
  }
  return text;
}

SysfsTree tree_of(const Spec& spec, const fs::path& lies_at) {
  SysfsTree tree(lies_at);
  tree.file("class/infiniband_verbs/abi_version", "6");
  tree.file("class/infiniband_mad/abi_version", "5");
  tree.file("class/misc/rdma_cm/abi_version", "4");
  tree.file("class/misc/rdma_cm/dev", std::to_string(kCmMajor) + ":" + std::to_string(kCmMinor));
  for (int index = 0; index < spec.nics; ++index) write_nic(tree, Identity(spec, index));
  write_modules(tree);
  tree.file("fs/cgroup/rdma.max", group_limits(spec));
  return tree;
}

// What it is of.
std::string folder_name(const Spec& spec) {
  Spec rest = spec;
  rest.fabric.clear();
  rest.address.clear();
  const std::string text = rest.text();
  std::string name = text.substr(0, text.rfind(','));
  for (const UdpAddress& address : spec.reached_at) name += "," + address.text();
  return name;
}

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
  const fs::path wanted = *own / folder_name(spec);
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
