// WorldRun: one execution of a world, made anew from its description each time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "backends/softnic/job_target.h"
#include "core/format/address_vector.h"
#include "device/proxied_queue.h"
#include "sim/world/execution.h"
#include "sim/world/nic_agent.h"
#include "sim/world/sim_machine.h"
#include "sim/world/sim_wire.h"
#include "sim/world/world.h"

namespace gdakit::sim {

// A NIC as the execution sees it.
class NicActor final : public Actor {
 public:
  // The NIC sleeps until `wakes_ns`.
  NicActor(NicAgent& nic, std::uint64_t wakes_ns) : nic_(nic), wakes_ns_(wakes_ns) {}
  bool can_go(std::uint64_t now_ns) const override {
    return now_ns >= wakes_ns_ && nic_.can_go(now_ns);
  }
  void go(std::uint64_t now_ns) override { nic_.go(now_ns); }
  bool idle_turn(std::uint64_t now_ns) override {
    return now_ns >= wakes_ns_ && nic_.idle_turn(now_ns);
  }
  std::optional<std::uint64_t> next_timer_ns() const override {
    return nic_.engine().next_timer_ns();
  }

 private:
  NicAgent& nic_;
  std::uint64_t wakes_ns_;
};

// The host thread of a PE between its queues and the NIC (core/host/proxy.h).
class ProxyActor final : public Actor {
 public:
  ProxyActor(WorldRun& run, std::uint32_t pe, weak::AgentId agent);
  void watch(const ProxiedQueue& queue);
  bool can_go(std::uint64_t now_ns) const override;
  void go(std::uint64_t now_ns) override;
  bool idle_turn(std::uint64_t now_ns) override;
  std::optional<std::uint64_t> next_timer_ns() const override { return std::nullopt; }

 private:
  bool turn();

  WorldRun& run_;
  std::uint32_t pe_;
  weak::AgentId agent_;
  std::vector<ProxiedQueue> queues_;
  std::uint64_t looked_at_ = 0;  // the memory's version
};

// The host as it reads a PE's reports while the kernel still runs (Context::check_device).
class ReportReader final : public Actor {
 public:
  ReportReader(WorldRun& run, std::uint32_t pe, weak::AgentId agent)
      : run_(run), pe_(pe), agent_(agent) {}
  bool can_go(std::uint64_t now_ns) const override;
  void go(std::uint64_t now_ns) override;
  bool idle_turn(std::uint64_t) override { return false; }
  std::optional<std::uint64_t> next_timer_ns() const override { return std::nullopt; }

 private:
  bool read(std::uint64_t report, std::uint64_t bytes);

  WorldRun& run_;
  std::uint32_t pe_;
  weak::AgentId agent_;
  std::uint64_t looked_at_ = 0;
  std::uint32_t looks_ = 0;
  bool done_ = false;
};

// A page of doorbells.
struct SimUar {
  std::uint32_t nic;  // of the PE
  softnic::UarNumber uar;
};

// One PE.
struct SimPe {
  std::vector<softnic::PdNumber> pds;  // [nic]
  // By page: the first ones, one of each NIC, are of all its queues that have a record.
  std::vector<SimUar> uars;
  std::vector<LocalRange> chunks;                // [nic][chunk], with room for one more
  std::vector<LocalRange> local_ranges;          // [nic][buffer]
  std::vector<Be32> rkeys;                       // [nic][chunk][pe], likewise
  std::vector<std::uint64_t> remote_bases;       // [pe]
  std::vector<std::uint64_t> direct_bases;       // [pe], then once more for atomics
  std::vector<QueueView> views;                  // [queue][pe], and behind them [channel][pe]
  std::vector<softnic::TargetCard> own_targets;  // [nic], of DC
  std::vector<format::AvSegment> targets;        // [nic][pe] as WQEs name them
  std::vector<ReceiveView> receives;             // [channel][pe]
  std::vector<TeamView> teams;
  std::vector<softnic::QpNumber> qpns;
  DeviceContext context{};
};

struct WorldRun final : DoorbellSink {
  WorldRun(World& of, Chooser& chooser, Trace* trace);

  void play();
  RunResult judge();

  void store(std::uint32_t pe, weak::AgentId agent, std::uint64_t offset, std::uint64_t value,
             const weak::Site* site) override;

  // What threads and NICs are called: by agent.
  std::string name_of(weak::AgentId agent) const;
  const SimPe& pe_of(const SimThread& thread) const { return pes[thread.pe]; }
  // The NIC of the PE by which that one of World::queues_ goes.
  NicAgent& nic_of(std::uint32_t pe, std::uint32_t number) {
    return nics[number_of_nic(pe, world.nic_of(number))];
  }

  World& world;
  Chooser& chooser;
  Trace* trace;
  Knobs knobs;
  SimFabric fabric;
  softnic::JobAddresses addresses;  // of the NICs, for DC
  std::deque<SimBlock> blocks;      // outlive the execution, which ends their threads
  Execution execution;
  SimSurroundings around;
  std::deque<NicAgent> nics;  // [nic][pe]
  std::deque<NicActor> nic_actors;
  std::deque<ProxyActor> proxies;
  std::deque<ReportReader> readers;
  std::deque<SimPe> pes;
  weak::AgentId host = 0;
  std::uint64_t outcome = 0;

 private:
  void add_threads();
  void add_nics();
  void add_nic(std::uint32_t pe, std::uint32_t nic);
  // Among `nics`, and its name on the wire.
  std::uint32_t number_of_nic(std::uint32_t pe, std::uint32_t nic) const {
    return nic * world.options_.pes + pe;
  }
  void add_host();
  weak::AgentId add_host_thread(const std::string& name, const std::string& group);
  void make_queues(std::uint32_t pe);
  void make_queue(std::uint32_t pe, std::uint32_t number);
  void make_target(std::uint32_t pe, std::uint32_t nic);
  void show_targets(std::uint32_t pe);
  void register_heap(std::uint32_t pe, std::uint32_t nic);
  void show_chunk(std::uint32_t pe, std::uint64_t begin, std::uint64_t end, Be32 key);
  void register_local_buffers(std::uint32_t pe, std::uint32_t nic);
  softnic::MemoryKey register_range(std::uint32_t pe, std::uint32_t nic, std::uint64_t begin,
                                    std::uint64_t end, softnic::Access access);
  // As the NIC reads it.
  QueueView make_view(std::uint32_t number);
  // The same as the device's threads see it.
  QueueView device_view(std::uint32_t number, QueueView view);
  void make_receive_queue(std::uint32_t pe, std::uint32_t number, softnic::QpAttributes& qp);
  void connect(std::uint32_t pe);
  void destroy_queues();
  void make_context(std::uint32_t pe);
  void show_direct_peers(std::uint32_t pe, DeviceContext& context);
  void initialize(std::uint32_t pe);
  std::uint32_t add_lane(std::string name, std::string group);

  std::uint32_t places_ = 0;  // numbers of blocks and of what stands apart
  std::vector<std::string> agent_names_;
  std::vector<std::string> lane_names_;
};

}  // namespace gdakit::sim
