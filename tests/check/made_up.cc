#include "tests/check/made_up.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "core/host/memory/host_memory.h"

namespace gdakit::tools::check {
namespace {

namespace fs = std::filesystem;

class PlayedEnd final : public mlx5::PutEnd {
 public:
  explicit PlayedEnd(std::shared_ptr<PlayedPuts> puts) : puts_(std::move(puts)) {}

  Result<Bytes> make_queue(QueueType type) override {
    puts_->type = type;
    if (!puts_->made) return puts_->made.error();
    return Bytes(1);
  }
  Result<void> connect(const Bytes&) override { return puts_->connected; }
  void prepare(std::uint64_t, std::uint8_t) override {}
  mlx5::PutOutcome put(std::uint64_t, std::uint8_t, std::chrono::milliseconds) override {
    ++puts_->puts;
    if (puts_->counters) *puts_->counters += puts_->counted_by_a_put;
    return puts_->outcome;
  }
  std::uint64_t count_wrong(std::uint64_t, std::uint8_t) const override { return puts_->wrong; }
  mlx5::GpuMemoryTrial try_gpu_memory(MemoryProvider&, void*, std::uint64_t bytes) override {
    if (bytes <= puts_->most_gpu_bytes) return puts_->gpu_memory;
    const mlx5::Answer refused{true, EFAULT, "ibv_reg_mr_iova2"};
    return {refused, refused, refused, refused};
  }
  std::optional<NicCounters> counters() override { return puts_->counters; }
  mlx5::GpuDoorbellTrial try_gpu_doorbell(MemoryProvider&) override { return puts_->gpu_doorbell; }

 private:
  std::shared_ptr<PlayedPuts> puts_;
};

}  // namespace

mlx5::NicLook healthy_nic(const std::string& name) {
  mlx5::NicLook nic;
  nic.name = name;
  nic.node = "uverbs0";
  nic.is_connectx = true;
  nic.open = nic.attributes = nic.uncached_page = nic.atomics = {true, 0, ""};
  nic.firmware = "28.39.3004";
  nic.part = 4129;
  nic.most_queue_pairs = 131072;
  nic.atomic_operations = 0xf;
  nic.atomic_sizes = 0xc;
  mlx5::GidLook gid;
  gid.index = 3;
  gid.text = "::ffff:10.0.0.1";
  gid.is_v2 = gid.is_ipv4 = true;
  mlx5::PortLook port;
  port.number = 1;
  port.query.asked = true;
  port.state = "ACTIVE";
  port.is_active = port.is_ethernet = true;
  port.mtu = port.max_mtu = 4096;
  port.pkeys = 1;
  port.gids = {gid};
  nic.ports = {port};
  return nic;
}

std::string configuration(std::uint16_t access_control) {
  std::string bytes(4096, '\0');
  bytes[0x34] = 0x60;  // PCI Express, with reads of 512 bytes and relaxed ordering
  bytes[0x60] = 0x10;
  bytes[0x68] = 0x10;
  bytes[0x69] = 0x20;
  bytes[0x100] = 0x01;  // error reporting, behind which comes
  bytes[0x103] = 0x14;  // ... at 0x140
  bytes[0x140] = 0x0d;  // access control
  bytes[0x146] = static_cast<char>(access_control & 0xff);
  bytes[0x147] = static_cast<char>(access_control >> 8);
  return bytes;
}

MadeUp::MadeUp() {
  std::string pattern = (fs::temp_directory_path() / "gdakit-check-XXXXXX").string();
  root_ = ::mkdtemp(pattern.data());
  surroundings_.tree = Tree(root_);
  for (const char* module : {"mlx5_core", "mlx5_ib", "ib_uverbs", "ib_core"}) {
    write(std::string("/sys/module/") + module + "/refcnt", "1");
  }
  write("/proc/sys/kernel/osrelease", "6.8.0-45-generic");
  write("/proc/self/status", "Name:\tgdakit\nCapEff:\t0000000000000000\n");
  write("/proc/self/uid_map", "         0          0 4294967295\n");
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0");
  write("/dev/infiniband/uverbs0", "");
  const std::string nic = kNic;
  write(nic + "/current_link_speed", "32.0 GT/s PCIe");
  write(nic + "/max_link_speed", "32.0 GT/s PCIe");
  write(nic + "/current_link_width", "16");
  write(nic + "/max_link_width", "16");
  write(nic + "/numa_node", "0");
  write(nic + "/iommu_group/type", "identity");
  write(nic + "/config", configuration(0));
  write(std::string(kBridge) + "/config", configuration(0));
  link("/sys/class/infiniband/mlx5_0/device", nic);
  surroundings_.libraries = mlx5::LibrariesLook{"libibverbs.so.1", "libmlx5.so.1", false};
  surroundings_.nics = std::vector<mlx5::NicLook>{healthy_nic("mlx5_0")};
  surroundings_.gpus.sentence = "no driver";
  surroundings_.open_put_end = [puts = puts_](const std::string&,
                                              unsigned) -> Result<std::unique_ptr<mlx5::PutEnd>> {
    if (!puts->opened) return puts->opened.error();
    return std::unique_ptr<mlx5::PutEnd>(std::make_unique<PlayedEnd>(puts));
  };
  surroundings_.take_gpu_memory = [](int, std::uint64_t) -> Result<GpuMemory> {
    auto provider = std::make_shared<HostMemoryProvider>();
    return GpuMemory{provider, provider.get(), nullptr};
  };
  surroundings_.gpu_rdma = [puts = puts_](int) -> Result<GpuRdma> { return puts->gpu_rdma; };
  surroundings_.put_by_gpu = [puts = puts_](const std::string&, unsigned, int, NicHandler handler) {
    return handler == NicHandler::gpu ? puts->by_gpu : puts->by_host;
  };
  surroundings_.place_nics = [](const std::vector<std::string>& gpus) {
    const std::string& gpu = gpus.back();
    return std::vector{
        mlx5::PlacedNic{"mlx5_0", 1, "the nearest to " + (gpu.empty() ? "none" : gpu)}};
  };
}

MadeUp::~MadeUp() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void MadeUp::write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(root_ + path).parent_path());
  std::ofstream(root_ + path, std::ios::binary) << text;
}

void MadeUp::remove(const std::string& path) { fs::remove_all(root_ + path); }

void MadeUp::link(const std::string& path, const std::string& target) {
  fs::create_directories(fs::path(root_ + path).parent_path());
  fs::create_directory_symlink(root_ + target, root_ + path);
}

void MadeUp::add_gpu(const std::string& folder, int numa_node) {
  write(folder + "/vendor", "0x10de");
  write(folder + "/class", "0x030200");
  write(folder + "/numa_node", std::to_string(numa_node));
  link("/sys/bus/pci/devices/" + folder.substr(folder.rfind('/') + 1), folder);
}

Finding CheckSteps::finding_of(Look look, Verdict wanted) {
  const StepReport report = look(machine_.surroundings());
  EXPECT_EQ(report.verdict, wanted) << report.summary;
  EXPECT_THAT(report.findings, testing::SizeIs(1));
  if (report.findings.empty()) return {};
  const Finding& finding = report.findings.front();
  for (const std::string& field : {finding.tried, finding.answer, finding.cause, finding.proof,
                                   finding.remedy, finding.otherwise}) {
    EXPECT_THAT(field, testing::Not(testing::IsEmpty())) << finding.tried;
  }
  return finding;
}

void CheckSteps::expect(Look look, Verdict wanted) {
  const StepReport report = look(machine_.surroundings());
  EXPECT_EQ(report.verdict, wanted) << report.summary;
  EXPECT_THAT(report.findings, testing::IsEmpty());
  EXPECT_THAT(report.summary, testing::Not(testing::IsEmpty()));
}

}  // namespace gdakit::tools::check
