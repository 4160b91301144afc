#include "backends/softnic/uverbs/sysfs.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/cpu_list.h"

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

// What the folder holds: files with their text, and links.
class Tree {
 public:
  explicit Tree(fs::path lies_at) : lies_at_(std::move(lies_at)) {}

  void file(const fs::path& path, const std::string& text) { files_[path] = text + '\n'; }
  // A link that says the whole way: one that follows it by itself, step by step, leaves the paths
  // that are answered in the place of /sys.
  void link(const fs::path& path, const fs::path& target) { links_[path] = lies_at_ / target; }

  // Into an empty folder. Throws fs::filesystem_error.
  void write(const fs::path& root) const {
    for (const auto& [path, text] : files_) {
      fs::create_directories((root / path).parent_path());
      std::ofstream out(root / path);
      out << text;
      if (!out.flush()) throw fs::filesystem_error("cannot write", root / path, std::error_code());
    }
    for (const auto& [path, target] : links_) {
      fs::create_directories((root / path).parent_path());
      fs::create_symlink(target, root / path);
    }
  }

  // Whether the folder holds all of it and nothing else. Throws as well.
  bool is_in(const fs::path& root) const {
    if (!fs::is_directory(fs::symlink_status(root))) return false;
    std::size_t found = 0;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      const fs::file_status status = entry.symlink_status();
      const fs::path path = entry.path().lexically_relative(root);
      if (fs::is_symlink(status) ? !has_link(root, path)
                                 : !fs::is_directory(status) && !has_file(root, path)) {
        return false;
      }
      if (!fs::is_directory(status)) ++found;
    }
    return found == files_.size() + links_.size();
  }

 private:
  bool has_link(const fs::path& root, const fs::path& path) const {
    const auto at = links_.find(path);
    return at != links_.end() && fs::read_symlink(root / path) == at->second;
  }
  bool has_file(const fs::path& root, const fs::path& path) const {
    const auto at = files_.find(path);
    if (at == files_.end() || !fs::is_regular_file(fs::symlink_status(root / path))) return false;
    std::ifstream in(root / path);
    return std::string(std::istreambuf_iterator<char>(in), {}) == at->second;
  }

  fs::path lies_at_;
  std::map<fs::path, std::string> files_;
  std::map<fs::path, fs::path> links_;
};

void write_pci(Tree& tree, const fs::path& at, const Identity& identity) {
  const unsigned device = identity.model().pci_device;
  char modalias[80];
  std::snprintf(modalias, sizeof modalias, "pci:v000015B3d%08Xsv000015B3sd00000007bc02sc07i00",
                device);
  tree.file(at / "modalias", modalias);
  tree.file(at / "vendor", "0x15b3");
  tree.file(at / "device", hex(device));
  tree.file(at / "subsystem_vendor", "0x15b3");
  tree.file(at / "subsystem_device", "0x0007");
  tree.file(at / "class", "0x020700");
  tree.file(at / "numa_node", "0");
  const std::string cpus = online_cpus();
  tree.file(at / "local_cpus", cpu_mask(cpus));
  tree.file(at / "local_cpulist", cpus);
  tree.file(at / "current_link_speed", "16.0 GT/s PCIe");
  tree.file(at / "max_link_speed", "16.0 GT/s PCIe");
  tree.file(at / "current_link_width", "16");
  tree.file(at / "max_link_width", "16");
}

void write_port(Tree& tree, const fs::path& at, const Identity& identity) {
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

void write_nic(Tree& tree, const Identity& identity) {
  const fs::path pci = fs::path("devices/pci0000:00") / identity.pci_address();
  const fs::path verbs = pci / "infiniband_verbs" / identity.file_name();
  const fs::path nic = pci / "infiniband" / identity.name();
  write_pci(tree, pci, identity);
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

Tree tree_of(const Spec& spec, const fs::path& lies_at) {
  Tree tree(lies_at);
  tree.file("class/infiniband_verbs/abi_version", "6");
  tree.file("class/infiniband_mad/abi_version", "5");
  tree.file("class/misc/rdma_cm/abi_version", "4");
  tree.file("class/misc/rdma_cm/dev", std::to_string(kCmMajor) + ":" + std::to_string(kCmMinor));
  for (int index = 0; index < spec.nics; ++index) write_nic(tree, Identity(spec, index));
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
  const Tree tree = tree_of(spec, wanted);
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
