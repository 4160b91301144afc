// One soft ConnectX of this process: its NIC, its place on the fabric, and what tells clients of
// its events. All open files of the process share it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "backends/softnic/engine/nic.h"
#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/gpu/late_gpu_dma.h"
#include "backends/softnic/objects/nic_trace.h"
#include "backends/softnic/objects/number_space.h"
#include "backends/softnic/uverbs/device_memory.h"
#include "backends/softnic/uverbs/events.h"
#include "backends/softnic/uverbs/fabric.h"
#include "backends/softnic/uverbs/fabric_addresses.h"
#include "backends/softnic/uverbs/fabric_control.h"
#include "backends/softnic/uverbs/failing_firmware.h"
#include "backends/softnic/uverbs/gid_slots.h"
#include "backends/softnic/uverbs/locked_memory.h"
#include "backends/softnic/uverbs/mad_wire.h"
#include "backends/softnic/uverbs/memory_pages.h"
#include "backends/softnic/uverbs/port.h"
#include "backends/softnic/uverbs/prompt_threads.h"
#include "backends/softnic/uverbs/spec.h"
#include "backends/softnic/uverbs/xrc_domains.h"
#include "backends/softnic/uverbs/xrc_targets.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/base/wall_clock.h"

namespace gdakit::softnic::uverbs {

class Device {
 public:
  // Errors: those of join_fabric() and FarWire::open(); options of the environment that are none; a
  // thread that the system does not give (EAGAIN).
  static Result<std::unique_ptr<Device>> open(const Spec& spec, int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Identity& identity() const { return identity_; }
  const NicFailures& failures() const { return identity_.failures(); }
  Nic& nic() { return *nic_; }
  FabricAddresses& addresses() { return addresses_; }
  // The longest payload of a packet: that of RoCE, 256 to 4096 bytes.
  std::uint32_t mtu() const { return mtu_; }
  EventBook& events() { return *events_; }
  MemoryPages& pages() { return *pages_; }
  Port& port() { return port_; }
  LockedMemory& locked() { return locked_; }
  // Contexts that are open: one more, if there may be. And one less.
  bool add_context();
  void remove_context() { --contexts_; }
  MadPort& mads() { return mads_; }
  // All ports go up or down, and clients are told.
  void set_port(bool up);
  // As port_attr.state, of the port with this number.
  std::uint8_t port_state(unsigned port) const;
  bool has_port(unsigned number) const { return number >= 1 && number <= identity_.ports(); }
  GidSlots& gids() { return gids_; }
  // They are elsewhere, and clients are told.
  void renumber_gids();
  // Its place on the fabric.
  Endpoint place() const { return nic_->endpoint(); }
  std::uint64_t opened_ms() const { return opened_ms_; }
  // Whether what happens here goes to files, which are a moment behind it (QueuedFile).
  bool writes_files() const { return writes_files_; }
  DeviceMemory& memory() { return *memory_; }
  XrcDomains& xrc_domains() { return xrc_domains_; }
  XrcTargets& xrc_targets() { return xrc_targets_; }

  // Carries out a firmware command (Firmware::execute). timed_out: it is done, and `status` is its
  // own, but what it has removed is still in use.
  Result<void> command(std::span<const std::uint8_t> in, std::span<std::uint8_t> out, Sender sender,
                       CommandStatus& status);
  // Memory that commands may name until it is removed, which they prevent by objects in it.
  UmemNumber add_umem(const Umem& umem);
  CommandStatus remove_umem(UmemNumber umem, Uid uid);

  // Nic::resize_cq, of which the firmware is told.
  Result<void> resize_cq(CqNumber cq, const CqResize& to, Uid uid);

  // From now on objects may lie in memory of this GPU. Errors: the NIC reaches another one's
  // (unavailable); those of make_gpu_dma().
  Result<void> reach_gpu(int ordinal);
  // One operation of the NIC's DMA, between two of its steps. False: the memory is lost.
  bool transfer(const std::function<DmaOp(DmaPort&)>& operation);

  // One more whose threads run the NIC's steps while they wait for it (Nic::progress), or one less.
  // Meanwhile the NIC's own thread is as one of the soft NIC's own backend: to be prompt would only
  // take cores from those who help.
  void expect_help(bool begins);
  bool is_helped() const { return helpers_ != 0; }

  // For a new context; nothing if all are in use.
  std::optional<Uid> take_uid();
  void give_back_uid(Uid uid);

 private:
  Device(const Spec& spec, int index) : identity_(spec, index), addresses_(spec, index) {}
  Result<void> begin(const Spec& spec);
  Result<void> write_clock_page();
  // Around the wire, what the environment wants to be recorded.
  Result<std::unique_ptr<Wire>> record(std::unique_ptr<Wire> wire, const Options& wanted);
  // The NIC on its way to the fabric, as the environment would have it.
  Result<void> open_nic(Membership member);

  Identity identity_;
  FabricAddresses addresses_;
  std::unique_ptr<EventBook> events_ = std::make_unique<EventBook>();
  std::shared_ptr<MemoryPages> pages_;
  std::unique_ptr<DeviceMemory> memory_;
  XrcDomains xrc_domains_;
  XrcTargets xrc_targets_;
  Port port_;  // all ports, which have one wire
  std::array<std::atomic<bool>, kMostPorts> ports_up_ = {};
  GidSlots gids_{identity_};
  LockedMemory locked_{failures().locked_bytes};
  std::atomic<std::uint64_t> contexts_{0};
  MadPort mads_;
  const std::uint64_t opened_ms_ = wall_ms();
  std::uint32_t mtu_ = 0;
  bool writes_files_ = false;
  std::unique_ptr<NicTrace> trace_;
  PromptShare share_;
  std::mutex helpers_lock_;
  std::atomic<int> helpers_ = 0;  // changed under the lock
  std::unique_ptr<Nic> nic_;
  LateGpuDma* dma_ = nullptr;  // the NIC's; used between its steps alone
  std::mutex gpu_lock_;
  std::optional<int> gpu_;  // that it reaches
  DmaChoice gpu_dma_ = DmaChoice::automatic;
  // Used between the NIC's steps alone, both.
  std::unique_ptr<Firmware> firmware_;
  FailingFirmware failing_{failures(), identity_.link() == LinkLayer::infiniband};
  std::mutex uids_lock_;
  NumberSpace uids_{1, 1u << 16, 64};
  std::unique_ptr<FabricControl> control_;  // ends first
};

}  // namespace gdakit::softnic::uverbs
