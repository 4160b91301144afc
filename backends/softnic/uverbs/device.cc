#include "backends/softnic/uverbs/device.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <rdma/mlx5-abi.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/uverbs/device_requests.h"
#include "backends/softnic/uverbs/far_wire.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/wire/routed_wire.h"
#include "backends/softnic/wire_options.h"
#include "core/base/options.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic::uverbs {
namespace {

// Programs that poll may have all cores. A thread that mostly sleeps gets one as soon as it wakes;
// one that spins or yields has to wait for its turn, which takes milliseconds.
constexpr NicThreadPace kPromptPace{.idle_spins = 32, .idle_yields = 0, .least_sleep_us = 20};

// Management datagrams come to NICs that have no queue pair yet, too.
constexpr std::uint32_t kBetweenDatagramsUs = 2000;

// Where mmap's command 7 finds the page by which CQEs' time stamps become nanoseconds.
constexpr std::uint64_t kClockPage = 0x700 * std::uint64_t{format::kUarPageBytes};

NicOptions nic_options(Endpoint place, EventSink& events, AddressResolver& addresses,
                       std::shared_ptr<HostPages> pages) {
  NicOptions options;
  options.engine.skipped_qps = first_qpn(place);
  options.engine.max_qps = kQpnsOfAPlace - 2;  // numbers begin at 2
  options.engine.skipped_keys = std::random_device{}() % (1u << 16);
  options.engine.first_key_variant = static_cast<std::uint8_t>(std::random_device{}());
  options.engine.events = &events;
  options.engine.addresses = &addresses;
  options.doorbell_pages = std::move(pages);
  options.thread.pace = kPromptPace;
  options.thread.sleep_before_start_us = kBetweenDatagramsUs;
  return options;
}

// As for any wire between hosts: many small packets are under way, and some are lost.
void send_over_udp(EngineOptions& options) {
  options.window = 1024;
  options.adaptive_retransmission = true;
  options.selective_repeat = true;
}

// The MTU of its Ethernet holds a packet of RoCE and its headers.
FirmwareIdentity firmware_identity(const Identity& identity, const Port& port, std::uint32_t mtu) {
  constexpr std::uint32_t kHeaders = 104;
  FirmwareIdentity known{.model = identity.model().number,
                         .ethernet = identity.link() == LinkLayer::ethernet,
                         .ports = identity.ports(),
                         .guid = identity.guid(),
                         .mtu = static_cast<std::uint16_t>(mtu + kHeaders),
                         .board = identity.model().board_id,
                         .port_is_up = [&port] { return port.is_up(); }};
  if (known.ethernet) known.mac = identity.mac();
  if (!known.ethernet) known.lid = identity.lid();
  if (!known.ethernet) known.sm_lid = kSubnetManagerLid;
  for (int i = 0; known.ethernet && i < identity.gids(); ++i) {
    const bool v2 = identity.gid_type(i) == 2;
    known.addresses.push_back({.gid = identity.gid(i),
                               .mac = identity.mac(),
                               .version = v2 ? RoceVersion::v2 : RoceVersion::v1});
  }
  return known;
}

Result<std::unique_ptr<Wire>> with_far_hosts(std::unique_ptr<Wire> near, const Identity& identity,
                                             FabricAddresses& addresses) {
  if (addresses.far() == nullptr) return near;
  auto far = FarWire::open(*identity.reached_at(), near->endpoint(), *addresses.far());
  if (!far) return far.error();
  return std::unique_ptr<Wire>(std::make_unique<RoutedWire>(std::move(near), std::move(*far),
                                                            std::vector<bool>(kPlaces, true)));
}

// Of this host's NICs their places by the host's address, as others would reach them.
std::function<UdpAddress(Endpoint)> capture_addresses(const Identity& identity,
                                                      FabricAddresses& addresses) {
  FarHosts* const far = addresses.far();
  if (far == nullptr) return nullptr;
  return [far, own = *identity.reached_at()](Endpoint endpoint) {
    if (endpoint >= kPlaces) return far->address_of(endpoint);
    return UdpAddress{own.ip, static_cast<std::uint16_t>(own.port + endpoint)};
  };
}

}  // namespace

Result<std::unique_ptr<Device>> Device::open(const Spec& spec, int index) {
  std::unique_ptr<Device> device(new Device(spec, index));
  try {
    if (const Result<void> begun = device->begin(spec); !begun) return begun.error();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return Error::from_errno(
        "a NIC needs a thread that the system does not give; raise the limit on processes "
        "(ulimit -u, or the container's)",
        error.code().value());
  }
  return device;
}

Result<void> Device::begin(const Spec& spec) {
  Result<std::shared_ptr<MemoryPages>> pages = MemoryPages::create();
  if (!pages) return pages.error();
  pages_ = std::move(*pages);
  if (const Result<void> written = write_clock_page(); !written) return written;
  Result<std::unique_ptr<DeviceMemory>> memory = DeviceMemory::create(*pages_);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  Result<Membership> member = join_fabric(spec.fabric);
  if (!member) return member.error();
  KeptFile listed = std::move(member->listed);
  if (const Result<void> opened = open_nic(std::move(*member)); !opened) return opened;
  control_ = std::make_unique<FabricControl>(std::move(listed), [this](const std::string& request) {
    return answer_request(*this, request);
  });
  return {};
}

Result<std::unique_ptr<Wire>> Device::record(std::unique_ptr<Wire> wire, const Options& wanted) {
  const OpeningOwnFiles opening;
  Result<std::unique_ptr<NicTrace>> trace = open_trace(wanted, wire->endpoint());
  if (!trace) return trace.error();
  trace_ = std::move(*trace);
  const std::string name = identity_.name() + "-" + std::to_string(::getpid());
  return wrap_wire(
      std::move(wire), wanted,
      {.address = capture_addresses(identity_, addresses_), .trace = trace_.get(), .name = name});
}

Result<void> Device::open_nic(Membership member) {
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  if (!parsed) return parsed.error();
  Options around = parsed->options;
  Result<std::unique_ptr<Wire>> wire =
      with_far_hosts(std::move(member.wire), identity_, addresses_);
  if (!wire) return wire.error();
  mtu_ = std::min((*wire)->psn_bytes(), failures().mtu);
  wire = port_.wrap(std::move(*wire), around.nic_faults);
  if (!wire) return wire.error().within("GDAKIT_NIC_FAULTS");
  around.nic_faults.clear();
  writes_files_ = !around.capture.empty() || !around.trace.empty();
  const Endpoint place = (*wire)->endpoint();
  wire = record(std::move(*wire), around);
  if (!wire) return wire.error();
  NicOptions options = nic_options(place, *events_, addresses_, pages_);
  options.engine.trace = trace_.get();
  // Else it would find by itself, in doorbell records, what it is not told.
  if (failures().doorbells_lost) options.engine.sweep_queues = 0;
  options.engine.dc.responders = around.dc_responders;
  gpu_dma_ = around.dma;
  options.thread.watch = &share_;
  if (addresses_.far() != nullptr) send_over_udp(options.engine);
  const PromptThreads prompt;
  auto dma = std::make_unique<LateGpuDma>();
  dma_ = dma.get();
  Result<std::unique_ptr<Nic>> nic =
      Nic::open(options, std::move(dma), mads_.wrap(std::move(*wire)));
  if (!nic) return nic.error();
  nic_ = std::move(*nic);
  for (unsigned port = 0; port < identity_.ports(); ++port) {
    ports_up_[port] = failures().port_states[port] == kStateActive;
  }
  const bool any = std::ranges::any_of(ports_up_, [](const auto& up) { return up.load(); });
  if (!any) port_.set_up(*nic_, false);
  return nic_->command([this](Engine& engine) {
    firmware_ =
        std::make_unique<Firmware>(engine, &addresses_, firmware_identity(identity_, port_, mtu_));
  });
}

Result<void> Device::command(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
                             Sender sender, CommandStatus& status) {
  return nic_->command([&](Engine&) {
    if (failing_.refuses(in, out, status)) return;
    status = firmware_->execute(in, out, sender);
    failing_.answered(in, out, status);
  });
}

UmemNumber Device::add_umem(const Umem& umem) {
  UmemNumber number = 0;
  nic_->between_steps([&] { number = firmware_->add_umem(umem); });
  return number;
}

CommandStatus Device::remove_umem(UmemNumber umem, Uid uid) {
  CommandStatus status = CommandStatus::ok;
  nic_->between_steps([&] { status = firmware_->remove_umem(umem, uid).status().status; });
  return status;
}

Result<void> Device::reach_gpu(int ordinal) {
  const std::lock_guard lock(gpu_lock_);
  if (gpu_ == ordinal) return {};
  if (gpu_) {
    return Error(Code::unavailable,
                 identity_.name() + " reaches memory of GPU " + std::to_string(*gpu_) +
                     " of this process, and not of GPU " + std::to_string(ordinal) +
                     " as well; use another NIC for that (gdakit verbs --nics)");
  }
  GpuDmaOptions options;
  options.ordinal = ordinal;
  options.method = dma_method(gpu_dma_);
  Result<std::unique_ptr<DmaPort>> port = make_gpu_dma(options);
  if (!port) return port.error().within(identity_.name() + " and GPU memory (GDAKIT_DMA)");
  nic_->between_steps([&] { dma_->take_over(std::move(*port)); });
  gpu_ = ordinal;
  return {};
}

bool Device::transfer(const std::function<DmaOp(DmaPort&)>& operation) {
  bool done = false;
  nic_->between_steps([&] {
    const DmaOp op = operation(*dma_);
    dma_->submit();
    for (done = dma_->done(op); !done && !dma_->lost(); done = dma_->done(op)) dma_->poll();
  });
  return done;
}

Result<void> Device::resize_cq(CqNumber cq, const CqResize& to, Uid uid) {
  Result<void> resized = nic_->resize_cq(cq, to, uid);
  if (resized) nic_->between_steps([&] { firmware_->cq_has_moved(cq, to); });
  return resized;
}

// The first helper comes, or the last one goes.
void Device::expect_help(bool begins) {
  const std::lock_guard lock(helpers_lock_);
  helpers_ += begins ? 1 : -1;
  if (helpers_ != (begins ? 1 : 0)) return;
  share_.set_helped(begins);
  nic_->set_pace(begins ? NicThreadPace{} : kPromptPace);
}

bool Device::add_context() {
  const auto most = failures().handles;
  if (++contexts_ <= most.value_or(~std::uint64_t{0})) return true;
  --contexts_;
  return false;
}

std::optional<Uid> Device::take_uid() {
  const std::lock_guard lock(uids_lock_);
  const auto number = uids_.take();
  if (!number) return std::nullopt;
  return static_cast<Uid>(*number);
}

void Device::give_back_uid(Uid uid) {
  const std::lock_guard lock(uids_lock_);
  uids_.give_back(uid);
}

void Device::set_port(bool up) {
  if (port_.is_up() != up) port_.set_up(*nic_, up);
  for (unsigned port = 1; port <= identity_.ports(); ++port) {
    if (ports_up_[port - 1].exchange(up) != up) events_->port_changes(port, up);
  }
}

// One that is to fail is as it begins.
std::uint8_t Device::port_state(unsigned port) const {
  if (ports_up_[port - 1]) return kStateActive;
  const std::uint8_t begins = failures().port_states[port - 1];
  return begins == kStateActive ? kStateDown : begins;
}

void Device::renumber_gids() {
  gids_.renumber();
  events_->gids_change();
}

// Time stamps are nanoseconds already.
Result<void> Device::write_clock_page() {
  const Result<void*> page = pages_->map_at(kClockPage, format::kUarPageBytes);
  if (!page) return page.error();
  mlx5_ib_clock_info clock{};
  clock.mult = 1;
  clock.mask = ~std::uint64_t{0};
  clock.overflow_period = ~std::uint64_t{0};
  std::memcpy(*page, &clock, sizeof clock);
  return {};
}

}  // namespace gdakit::softnic::uverbs
