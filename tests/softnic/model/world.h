// The model: several engines on one wire, their clients, a clock, and a seed that decides all of
// it.
//
//   World world(seed);
//   std::string wrong = world.run();      // empty, or what was wrong and the tail of the history
//
// Nothing but the seed decides what happens: neither time, nor addresses, nor the environment.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/softnic/wire/loopback_wire.h"
#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/model/client.h"

namespace gdakit::softnic::test::model {

// How a seed's wires, ports and engines are.
struct Weather {
  std::uint32_t nics = 2;
  std::uint32_t connections = 1;
  std::uint32_t mtu = 256;
  std::uint32_t slots = 16;  // of a ring
  std::uint32_t psn_window = kMaxPsnWindow;
  bool by_value = false;
  bool delayed_dma = false;
  bool ordered_dma = true;
  // Whether queues fail. Not on a port without order: the engine lets what a READ brings land
  // behind the CQEs of its failure there.
  bool breaks = true;
  std::uint32_t drop_percent = 0, repeat_percent = 0, delay_percent = 0;
  std::uint32_t mark_percent = 0;  // of packets that can be marked: those of congestion control
  std::uint32_t skipped_steps_percent = 0;
  std::uint32_t actions = 40;
  std::uint8_t ack_timeout = 8;
  bool strict = false;
  bool impatient = false;  // retries may be exceeded without a loss
  bool starving = false;   // receives that come late are fatal
  EngineOptions engine;
};

struct Connection {
  ConnectionRules rules;
  std::unique_ptr<End> ends[2];
};

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();

  std::string run();

 private:
  // world.cc
  static Weather choose_weather(Random& random);
  void make_nic();
  std::unique_ptr<Wire> make_wire(ClientNic& nic, std::uint32_t number);
  bool may_drop(ClientNic& nic, const Packet& packet);
  bool step();
  void steps(std::uint32_t count);
  void run_until(const char* what, const std::function<bool()>& done);
  void finish();
  void check_memory();
  std::string describe() const;

  // actions.cc
  void act();
  void post(End& end);
  void post_receives(End& end, bool all);
  void post_owed_receives();
  void change_spare_objects(ClientNic& nic);
  void recall(ClientNic& nic);
  void break_something(Connection& connection);
  void remove_key(End& end);
  End& any_end();

  // lives.cc
  void make_connection();
  void open(Connection& connection);
  void let_old_packets_come(Connection& connection);
  ClientCq& choose_cq(ClientNic& nic, bool sends, End& end);
  CqeSize choose_cqe_size();
  void end_life(Connection& connection);
  void flush_all(Connection& connection);
  void remove(End& end, bool destroys);
  void wait_until_unused(ClientNic& nic);

  const std::uint64_t seed_;
  Random random_;
  Random losses_;  // of its own, so that the wire's choices do not depend on the clients'
  const Weather weather_;
  Journal journal_;
  std::shared_ptr<LoopbackFabric> fabric_;
  std::shared_ptr<ShmSegment> segment_;
  std::vector<std::unique_ptr<ClientNic>> nics_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint32_t next_end_ = 1;
  std::uint32_t steps_ = 0;
  std::uint32_t idle_steps_ = 0;
};

}  // namespace gdakit::softnic::test::model
