// World: a small job inside the weak-memory simulator: PEs with their GPU, NIC and memory, a kernel
// for each, and what must hold at the end.
//
//   sim::World world("message passing", {.pes = 2});
//   auto* data = world.allocate<std::uint64_t>("data", 1);
//   auto* flag = world.allocate<std::uint64_t>("flag", 1, sim::RegionKind::signal);
//   world.launch_on(0, {.threads = 1}, Sender{data, flag});
//   world.launch_on(1, {.threads = 1}, Receiver{data, flag});
//   world.check([=](sim::After& after) {
//     after.expect(after.value(1, data) == 42, "PE 1 has the data");
//   });
//   sim::Exploration found = sim::explore(world, {.schedules = 2000});   // explore/explorer.h
//
// Every PE has the same layout at the same addresses, as processes on different machines may have:
// a pointer into the heap means each PE's own memory. Kernels are the callables that
// Context::launch takes; they are called with a Pe<SimMachine> (kernel_pe.h).
//
// A world is a Subject: run() plays one execution and judges it. Set it up first, then run it as
// often as you like; executions do not influence one another. A world that cannot be (a depth that
// is no power of two, a heap that is too small, no kernel at all) does not run: run() says what is
// wrong as a finding of kind setup.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/type_identity.h"
#include "device/pe.h"
#include "sim/choice/subject.h"
#include "sim/weak/memory.h"
#include "sim/world/aftermath.h"
#include "sim/world/arena.h"
#include "sim/world/kernel_pe.h"
#include "sim/world/knobs.h"
#include "sim/world/region.h"
#include "sim/world/sim_machine.h"
#include "sim/world/sites.h"
#include "sim/world/witness.h"

namespace gdakit::sim {

inline constexpr std::uint32_t kNobodysKeys = ~std::uint32_t{0};

// How kernels reach the memory of other PEs, and their own by remote operations.
enum class Reached : std::uint8_t {
  through_nic,
  directly,  // by loads, stores and atomics
  mixed,     // by loads and stores; atomics and signals go through the NIC, and all where needs_cst
  partly,    // as mixed, but for the last PE: it reaches nobody so, and nobody it
};

struct WorldOptions {
  std::uint32_t pes = 2;
  std::uint32_t nics = 1;              // of a PE, over which its queues are spread; of RC alone
  std::uint32_t queues = 2;            // shared ones, to each peer; as GDAKIT_QUEUES_PER_PEER
  std::uint32_t exclusive_queues = 0;  // behind them
  std::uint32_t dc_queues = 0;         // not 0: of DC, so many for all peers in the place of a
                                       // shared one to each
  std::uint32_t channels = 0;          // to each peer, apart from the queues
  std::uint32_t receive_depth = 2;     // receives of a channel, a power of two
  std::uint32_t depth = 32;            // of a send queue in WQEBBs, a power of two from 32 on
  std::uint32_t fetch_slots = 2;       // of a queue, a power of two; at least the lanes of a warp
  std::uint64_t heap_bytes = 4096;
  std::uint32_t local_buffers = 0;  // of kLocalBufferBytes, registered, outside of the heap
  bool check_memory = false;        // as GDAKIT_CHECK_MEMORY: operations may touch objects alone
  std::uint64_t max_message_bytes = 64;
  std::uint64_t stack_bytes = 64 * 1024;  // of each thread, where its local arrays lie
  std::uint64_t start_index = 0;          // WQEBBs that every queue counts as completed
  std::uint64_t watchdog_ns = 0;          // 0: a hang is found by the simulator itself
  Handler handler = Handler::gpu;
  bool recordless = false;  // queues have no doorbell record; no doorbell may be lost then
  // Pairs of PEs that have no queues of RC to each other.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> unconnected = {};
  Owner queue_memory = Owner::gpu;            // where queues, unless by commands, and heap lie
  Knobs base = {};                            // hopper() or ampere()
  KnobSet knobs = KnobSet::of_nics();         // those that each execution draws
  std::optional<bool> needs_cst = {};         // default: as the GPU asks for
  std::optional<bool> any_placement = {};     // what the library is told; default: as the NICs do
  bool expect_quiet = true;                   // at the end every queue is healthy and complete
  std::uint32_t bad_rkeys_of = kNobodysKeys;  // the PE whose remote keys are wrong for the others
  std::uint64_t nics_wake_ns = 0;             // until then no NIC does anything
  bool destroy_queues = false;                // when the kernels end, whatever is under way
  std::vector<std::vector<std::int32_t>> teams = {};  // beside the world's: their members; id 1 ...
  bool teams_follow = false;  // they are given one place, one after the other
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  Reached reached = Reached::through_nic;  // how threads reach other PEs' memory
  std::uint64_t team_scratch = 0;          // bytes; 0: the least that works
  bool watch_reports = false;              // the host reads stall and fault reports meanwhile
  weak::MemoryOptions memory = {};
};

inline constexpr std::uint64_t kRegionAlignment = 64;
inline constexpr std::uint64_t kLocalBufferBytes = 64;
// The queues of a NIC's target of DC, which are never used: CQE, WQE and record.
inline constexpr std::uint64_t kTargetBytes = 3 * kRegionAlignment;

struct WorldRun;  // one execution (world_run.h)

class World final : public Subject, private weak::Names {
 public:
  World(std::string name, const WorldOptions& options);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::string& name() const override { return name_; }
  // As given; the defaults if there is a problem with them.
  const WorldOptions& options() const { return options_; }
  // The first thing in the set-up that cannot be; "" if all is well.
  const std::string& problem() const { return problem_; }

  // `count` objects of the symmetric heap, zero at the beginning of each execution; `name` is what
  // findings and traces call them. Words that another PE sets to say that data is there are of kind
  // signal.
  template <class T>
  T* allocate(const std::string& name, std::size_t count, RegionKind kind = RegionKind::heap,
              Inbound inbound = Inbound::by_kind) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kRegionAlignment);
    return reinterpret_cast<T*>(allocate_bytes(name, count * sizeof(T), kind, inbound));
  }
  // What an object holds at the beginning of each execution.
  template <class T>
  void set(std::uint32_t pe, const T* at, const type_identity_t<T>& value) {
    set_bytes(pe, reinterpret_cast<std::uint64_t>(at), &value, sizeof(T));
  }

  // A PE's registered buffer outside of the heap: one of WorldOptions::local_buffers.
  void* local_buffer(std::uint32_t number) const {
    return reinterpret_cast<void*>(space_.arena_base + local_ + number * kLocalBufferBytes);
  }
  // By which words the host tells a PE that others are lost, one for each: kernels that play the
  // host store to them, before PeState::losses.
  std::uint64_t* lost_words() const {
    return reinterpret_cast<std::uint64_t*>(space_.arena_base + lost_);
  }

  // A chunk of the heap, which has keys of its own, begins at this address, which an earlier one
  // precedes. Before the first execution.
  void split_at(const void* address) {
    borders_.push_back(space_.offset(reinterpret_cast<std::uint64_t>(address)));
  }

  // What kernels of PE `pe` take as Channels: channels()[pe], which they read when they run.
  const Channels* channels() const { return channels_.data(); }

  // Runs kernel(pe) for every thread of the shape, on one PE or on each. The kernel is copied; it
  // is shared by all threads and executions, hence const.
  template <class Kernel>
  void launch_on(std::uint32_t pe, LaunchShape shape, Kernel kernel) {
    add_launch(pe, shape, std::make_shared<const Kernel>(std::move(kernel)),
               [](const void* erased, Thread& thread) {
                 auto& self = static_cast<SimThread&>(thread);
                 SimMachine machine(self, surroundings(self));
                 KernelPe<> pe_handle(Pe<SimMachine>(machine, context(self)));
                 (*static_cast<const Kernel*>(erased))(pe_handle);
                 machine.finish();
               });
  }
  template <class Kernel>
  void launch(LaunchShape shape, const Kernel& kernel) {
    for (std::uint32_t pe = 0; pe < options_.pes; ++pe) launch_on(pe, shape, kernel);
  }

  // Where kernels say what they saw: an execution fails if one of them expected something else. It
  // forgets before each execution.
  const Witness* witness() const { return &witness_; }
  // Called before each execution: resets what else kernels write outside of the world's memory.
  void before_each(std::function<void()> reset) { before_each_ = std::move(reset); }
  // Judges an execution in which all threads have ended and all NICs rest.
  void check(std::function<void(After&)> judge) { judge_ = std::move(judge); }

  RunResult run(Chooser& chooser, Trace* trace) override;

  // What mutants do (sites.h). Applies to the executions from now on.
  void set_mutations(std::vector<Mutation> mutations) {
    sites_.set_mutations(std::move(mutations));
  }
  const SiteTable& sites() const { return sites_; }

  // For what belongs to a world's executions.
  weak::Memory& memory() { return memory_; }
  const AddressSpace& space() const { return space_; }
  std::size_t queue_count() const { return queues_.size(); }
  // What one PE's memory takes up.
  static std::uint64_t bytes_of_pe(const WorldOptions& options);

 private:
  friend struct WorldRun;
  friend class After;

  struct Launch {
    std::uint32_t pe;
    LaunchShape shape;
    std::shared_ptr<const void> kernel;
    ThreadMain main;
  };
  // Where the parts of a queue lie in the PE.
  struct QueueOffsets {
    std::uint64_t slots, cqe, ready, state, record, proxy, fetch, sink;
    std::uint64_t commands, passed_on;                    // Handler::commands: of the device's side
    std::uint64_t receives, receive_cqes, receive_state;  // of a channel
  };
  struct Initial {
    std::uint32_t pe;
    std::uint64_t offset;
    std::vector<unsigned char> bytes;
  };

  struct Extent {
    std::uint64_t begin, end;  // offsets
  };

  // Where the parts of a team lie, and who its members are.
  struct TeamPlace {
    std::vector<std::int32_t> members;
    std::vector<std::int32_t> numbers;
    TeamView view;  // but for my_pe and what points to the two above
  };

  std::string place(weak::Address address) const override;
  std::string agent(weak::AgentId agent) const override;
  weak::PlaceFacts facts(weak::Address address) const override;

  std::uint64_t allocate_bytes(const std::string& name, std::size_t bytes, RegionKind kind,
                               Inbound inbound);
  void set_bytes(std::uint32_t pe, std::uint64_t address, const void* from, std::size_t bytes);
  void add_launch(std::uint32_t pe, LaunchShape shape, std::shared_ptr<const void> kernel,
                  void (*enter)(const void*, Thread&));

  std::uint64_t add_region(std::string name, std::uint64_t bytes, RegionKind kind, Owner owner,
                           Inbound inbound = Inbound::by_kind);
  void add_queue(std::uint32_t number);
  void add_team(std::vector<std::int32_t> members);
  void make_place(const std::string& team, TeamView& view);
  std::uint32_t queues_per_peer() const { return options_.queues + options_.exclusive_queues; }
  // Whether a number of queues_ is that of a channel: these stand behind the queues.
  bool is_channel(std::uint32_t number) const { return number >= queues_per_peer() * options_.pes; }
  void add_receive_queue(const std::string& name, QueueOffsets& at);
  // Of queues_ by number, as `pe` has them:
  bool is_dc(std::uint32_t number) const {
    return options_.dc_queues != 0 && number / options_.pes < options_.queues;
  }
  // The NIC of a PE by which it goes, at both ends.
  std::uint32_t nic_of(std::uint32_t number) const {
    const std::uint32_t row = number / options_.pes;
    const std::uint32_t first_channel = is_channel(number) ? kFirstChannel - queues_per_peer() : 0;
    return (row + first_channel) % options_.nics;
  }
  bool is_recordless(std::uint32_t number) const {
    return options_.recordless && !is_channel(number);
  }
  bool is_void(std::uint32_t pe, std::uint32_t number) const;
  // The one whose memory and queue pair it shares; itself, unless it is of DC.
  std::uint32_t home_of(std::uint32_t number) const;
  // Whether it has a queue pair of its own.
  bool has_qp(std::uint32_t pe, std::uint32_t number) const {
    return home_of(number) == number && !is_void(pe, number);
  }
  void complain(const std::string& problem);
  std::string problem_of_run() const;
  std::uint32_t lanes_without_fetch_slot(const WorldRun& run) const;

  static SimSurroundings& surroundings(SimThread& thread);
  static const DeviceContext& context(SimThread& thread);

  std::string name_;
  std::string problem_;
  WorldOptions options_;
  Layout layout_;
  Arena arena_;
  AddressSpace space_;
  std::vector<QueueOffsets> queues_;    // [queue][pe], and behind them [channel][pe]
  std::vector<Channels> channels_;      // [pe], of the execution that runs
  std::uint64_t used_ = 0;              // of the PE's bytes
  std::uint64_t doorbells_ = 0;         // offset of the UAR pages
  std::uint64_t target_ = 0;            // offset of the queues of the PE's targets of DC
  std::uint64_t report_ = 0;            // offset of the PeState
  std::uint64_t lost_ = 0;              // offset of lost_words()
  std::uint64_t local_ = 0;             // offset of the buffers outside of the heap
  std::uint64_t heap_ = 0;              // offset of the heap
  std::uint64_t users_ = 0;             // offset of what its user allocates
  std::vector<Extent> objects_;         // of the heap, ascending
  std::vector<std::uint64_t> borders_;  // offsets, ascending, of the heap's chunks but the first
  weak::Memory memory_;
  StackPool stacks_;
  SiteTable sites_;
  std::vector<Launch> launches_;
  std::uint64_t agents_ = 0;
  std::vector<Initial> initial_;
  Witness witness_;
  std::function<void()> before_each_;
  std::function<void(After&)> judge_;
  std::vector<TeamPlace> teams_;
  PeWords* words_ = nullptr;
  WorldRun* running_ = nullptr;
};

}  // namespace gdakit::sim
