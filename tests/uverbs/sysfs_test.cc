// The folder that stands in for /sys, read as programs read it.
#include "backends/softnic/uverbs/sysfs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "uverbs-sysfs-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  std::string line(const fs::path& of) const {
    std::ifstream file(path_ / of);
    std::string text;
    if (!std::getline(file, text)) return "(no such file)";
    return text;
  }

 private:
  fs::path path_;
};

struct Expected {
  const char* spec;
  std::map<std::string, std::string> files;  // below class/infiniband/mlx5_0
};

class UverbsSysfs : public testing::TestWithParam<Expected> {};

TEST_P(UverbsSysfs, HasTheFilesOfItsModelAndLink) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse(GetParam().spec), folder.path()));
  for (const auto& [file, text] : GetParam().files) {
    EXPECT_EQ(folder.line(fs::path("class/infiniband/mlx5_0") / file), text) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, UverbsSysfs,
    testing::Values(
        Expected{"model=6,link=ib",
                 {{"node_type", "1: CA"},
                  {"node_guid", "0c42:a103:0000:0001"},
                  {"board_id", "MT_0000000223"},
                  {"fw_ver", "20.39.3004"},
                  {"hca_type", "MT4123"},
                  {"device/modalias", "pci:v000015B3d0000101Bsv000015B3sd00000007bc02sc07i00"},
                  {"device/vendor", "0x15b3"},
                  {"device/device", "0x101b"},
                  {"ports/1/link_layer", "InfiniBand"},
                  {"ports/1/state", "4: ACTIVE"},
                  {"ports/1/rate", "200 Gb/sec (4X HDR)"},
                  {"ports/1/lid", "0x0001"},
                  {"ports/1/pkeys/0", "0xffff"},
                  {"ports/1/gids/0", "fe80:0000:0000:0000:0c42:a103:0000:0001"},
                  {"ports/1/gids/1", "(no such file)"},
                  {"ports/1/gid_attrs/types/0", "(no such file)"}}},
        Expected{"model=7,link=roce",
                 {{"board_id", "MT_0000000838"},
                  {"fw_ver", "28.39.3004"},
                  {"hca_type", "MT4129"},
                  {"device/modalias", "pci:v000015B3d00001021sv000015B3sd00000007bc02sc07i00"},
                  {"device/device", "0x1021"},
                  {"ports/1/link_layer", "Ethernet"},
                  {"ports/1/rate", "400 Gb/sec (4X NDR)"},
                  {"ports/1/lid", "0x0000"},
                  {"ports/1/gids/1", "fe80:0000:0000:0000:0c42:a103:0000:0001"},
                  {"ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:7f00:0001"},
                  {"ports/1/gids/4", "(no such file)"},
                  {"ports/1/gid_attrs/types/0", "IB/RoCE v1"},
                  {"ports/1/gid_attrs/types/1", "RoCE v2"},
                  {"ports/1/gid_attrs/types/2", "IB/RoCE v1"},
                  {"ports/1/gid_attrs/types/3", "RoCE v2"},
                  {"ports/1/gid_attrs/ndevs/3", "lo"},
                  {"device/net/lo/dev_port", "0"}}},
        Expected{"model=8,link=roce",
                 {{"board_id", "MT_0000001069"},
                  {"fw_ver", "40.43.1014"},
                  {"hca_type", "MT4131"},
                  {"device/modalias", "pci:v000015B3d00001023sv000015B3sd00000007bc02sc07i00"},
                  {"device/device", "0x1023"}}}),
    [](const auto& one) { return "Nic" + std::to_string(one.index); });

TEST(UverbsSysfsTree, ThereIsADeviceForEachNic) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse("nics=3"), folder.path()));
  EXPECT_EQ(folder.line("class/infiniband_verbs/abi_version"), "6");
  EXPECT_EQ(folder.line("class/misc/rdma_cm/abi_version"), "4");
  for (int index = 0; index < 3; ++index) {
    const std::string number = std::to_string(index);
    const fs::path verbs = fs::path("class/infiniband_verbs") / ("uverbs" + number);
    EXPECT_EQ(folder.line(verbs / "ibdev"), "mlx5_" + number);
    EXPECT_EQ(folder.line(verbs / "abi_version"), "1");
    EXPECT_EQ(folder.line(verbs / "dev"), "231:" + std::to_string(192 + index));
    EXPECT_EQ(folder.line(verbs / "device/device"), "0x1021");
  }
  EXPECT_FALSE(fs::exists(folder.path() / "class/infiniband/mlx5_3"));
}

// Programs take two levels off the resolved path and want the address of a PCI device there.
TEST(UverbsSysfsTree, LinksLeadIntoTheTreeOfPciDevices) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse("nics=2"), folder.path()));
  const fs::path nic = fs::canonical(folder.path() / "class/infiniband/mlx5_1");
  EXPECT_EQ(nic.parent_path().parent_path().filename(), "0000:02:00.0");
  EXPECT_EQ(fs::canonical(nic / "device"), nic.parent_path().parent_path());
  const fs::path root = fs::canonical(folder.path());
  EXPECT_EQ(nic.string().compare(0, root.string().size(), root.string()), 0);
}

// One that resolves a path by itself would look for the rest of a relative link in /sys.
TEST(UverbsSysfsTree, LinksSayTheWholeWayFromWhereItWillLie) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse("nics=2"), "/will/lie/here"));
  EXPECT_EQ(fs::read_symlink(folder.path() / "class/infiniband/mlx5_1"),
            "/will/lie/here/devices/pci0000:00/0000:00:02.0/0000:02:00.0/infiniband/mlx5_1");
}

// What is read to judge a host: how fast the NIC's link is, what lies on its way, which modules.
TEST(UverbsSysfsTree, HasWhatAHealthyHostSaysOfItsNics) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse("nics=2"), folder.path()));
  const fs::path device = "class/infiniband/mlx5_1/device";
  for (const char* const part : {"speed", "width"}) {
    EXPECT_EQ(folder.line(device / (std::string("current_link_") + part)),
              folder.line(device / (std::string("max_link_") + part)));
  }
  EXPECT_EQ(folder.line(device / "current_link_speed"), "32.0 GT/s PCIe");
  EXPECT_EQ(folder.line(device / "current_link_width"), "16");
  EXPECT_EQ(folder.line(device / "numa_node"), "0");
  EXPECT_EQ(folder.line(device / "iommu_group/type"), "identity");
  EXPECT_EQ(fs::canonical(folder.path() / device / "driver").filename(), "mlx5_core");
  EXPECT_EQ(folder.line(device / "driver/module/version"), "24.10-0.7.0");
  for (const char* const module : {"mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs"}) {
    EXPECT_EQ(folder.line(fs::path("module") / module / "initstate"), "live") << module;
  }
  EXPECT_EQ(folder.line("fs/cgroup/rdma.max"), "mlx5_0 hca_handle=max hca_object=max");
}

TEST(UverbsSysfsTree, TheRootPortIsAboveTheNic) {
  const Folder folder;
  ASSERT_TRUE(write_sysfs(folder.path(), *Spec::parse("nics=2"), folder.path()));
  const fs::path nic = fs::canonical(folder.path() / "class/infiniband/mlx5_1/device");
  const fs::path port = nic.parent_path();
  EXPECT_EQ(folder.line(port / "class"), "0x060400");
  EXPECT_EQ(fs::file_size(port / "config"), 4096u);
  EXPECT_EQ(fs::file_size(nic / "config"), 4096u);
}

TEST(UverbsSysfsTree, AFolderThatIsNotThereIsAnError) {
  const Folder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  const Result<void> written = write_sysfs(folder.path() / "file", Spec(), "file");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("/sys"));
}

// TMPDIR is another one here.
struct UverbsSysfsFolder : testing::Test {
  UverbsSysfsFolder() { ::setenv("TMPDIR", folder.path().c_str(), 1); }
  ~UverbsSysfsFolder() override { ::setenv("TMPDIR", before.c_str(), 1); }

  const fs::path before = fs::temp_directory_path();
  Folder folder;
  fs::path own() const { return folder.path() / ("gdakit-verbs-" + std::to_string(::getuid())); }
};

TEST_F(UverbsSysfsFolder, IsMadeOnceForEachKind) {
  Spec spec = *Spec::parse("model=6,fabric=one");
  const std::string first = *sysfs_folder(spec);
  EXPECT_EQ(fs::path(first).parent_path(), own());
  EXPECT_TRUE(fs::exists(fs::path(first) / "class/infiniband/mlx5_0"));
  const auto written = fs::last_write_time(fs::path(first) / "class/infiniband_verbs/abi_version");
  spec.fabric = "other";
  EXPECT_EQ(*sysfs_folder(spec), first);
  EXPECT_EQ(fs::last_write_time(fs::path(first) / "class/infiniband_verbs/abi_version"), written);
  EXPECT_NE(*sysfs_folder(*Spec::parse("model=7")), first);
  EXPECT_NE(*sysfs_folder(*Spec::parse("model=6,nics=2")), first);
  EXPECT_NE(*sysfs_folder(*Spec::parse("model=6,link=ib")), first);
}

TEST_F(UverbsSysfsFolder, NobodyElseMayHaveWrittenThere) {
  ASSERT_TRUE(sysfs_folder(Spec()));
  struct stat status {};
  ASSERT_EQ(::stat(own().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(own().c_str(), 0777), 0);
  const Result<std::string> open = sysfs_folder(Spec());
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code(), Code::permission_denied);
  EXPECT_THAT(open.error().message(), HasSubstr("TMPDIR"));
}

TEST_F(UverbsSysfsFolder, OneThatOthersMayReadIsRefused) {
  ASSERT_TRUE(sysfs_folder(Spec()));
  ASSERT_EQ(::chmod(own().c_str(), 0750), 0);
  const Result<std::string> open = sysfs_folder(Spec());
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message(), HasSubstr(own().string()));
  EXPECT_THAT(open.error().message(), HasSubstr("mode 0700"));
}

// Of another version, or what is left of one where old files are swept away.
TEST_F(UverbsSysfsFolder, IsWrittenAnewWhereItIsAnotherOne) {
  const fs::path where = *sysfs_folder(Spec());
  const fs::path guid = where / "class/infiniband/mlx5_0/node_guid";
  const auto damage = [&](int kind) {
    if (kind == 0) std::ofstream(guid) << "another one\n";
    if (kind == 1) fs::remove(guid);
    if (kind == 2) fs::create_directory_symlink("/", where / "class/infiniband/mlx5_1");
    if (kind == 3) std::ofstream(where / "class/more") << "more\n";
    if (kind == 4) fs::remove_all(where / "class");
    if (kind == 5) fs::remove_all(where), fs::create_directory_symlink("/", where);
    if (kind == 6) fs::remove_all(where), std::ofstream(where.string()) << "no folder\n";
  };
  for (int kind = 0; kind < 7; ++kind) {
    damage(kind);
    EXPECT_EQ(*sysfs_folder(Spec()), where.string());
    std::string line;
    EXPECT_TRUE(std::getline(std::ifstream(guid) >> std::ws, line)) << kind;
    EXPECT_EQ(line, "0c42:a103:0000:0001") << kind;
    EXPECT_FALSE(fs::exists(where / "class/infiniband/mlx5_1")) << kind;
    EXPECT_FALSE(fs::exists(where / "class/more")) << kind;
    EXPECT_EQ(std::distance(fs::directory_iterator(own()), {}), 1) << kind;
  }
}

TEST_F(UverbsSysfsFolder, ARelativeTmpdirIsMadeAbsolute) {
  const fs::path before_here = fs::current_path();
  fs::current_path(folder.path());
  ::setenv("TMPDIR", ".", 1);
  const Result<std::string> where = sysfs_folder(Spec());
  fs::current_path(before_here);
  ASSERT_TRUE(where);
  EXPECT_TRUE(fs::path(*where).is_absolute());
}

TEST_F(UverbsSysfsFolder, ALinkIsNotFollowed) {
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", own());
  EXPECT_FALSE(sysfs_folder(Spec()));
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
