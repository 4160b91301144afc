// What a program writes to /dev/infiniband/rdma_cm, and what a peer says to its connection manager,
// wrong in every way, by the numbers of an input: of every command and message, cut, with random
// fields, and with identifiers that are wrong or gone.
//
// Most are nearly right, so that there are connections for the others to be wrong about.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "backends/softnic/uverbs/cm/commands.h"
#include "tests/softnic/fuzz_input.h"

namespace gdakit::softnic::uverbs::cm::test {

// Ports that are bound, listened at and called: of each NIC the first few from here on.
inline constexpr std::uint16_t kFirstPort = 7000, kPorts = 2;

class HostileCm {
 public:
  // `own` is the manager's NIC, and `peer` another one of its fabric, whose manager this is.
  HostileCm(Manager& manager, Device& own, Device& peer, softnic::test::Input& input);
  HostileCm(const HostileCm&) = delete;
  HostileCm& operator=(const HostileCm&) = delete;
  ~HostileCm();

  // Writes a command, or says something as the peer. Returns what is wrong with the answer, in a
  // sentence; empty: nothing.
  std::string act();
  // What the program was told of.
  const std::set<EventKind>& events() const { return events_; }

 private:
  bool rarely(std::uint32_t times) { return input_.below(times) == 0; }
  std::uint32_t id();
  void remember(std::uint32_t id) { ids_[input_.below(ids_.size())] = id; }
  std::uint64_t place();
  IpPort address();
  template <class Sockaddr>
  std::uint16_t put_address(Sockaddr& to);
  template <class Parameters>
  void put_parameters(Parameters& to);
  template <class Command>
  int write(std::uint32_t number, Command command, std::size_t room = 512);

  int create();
  int bind();
  int resolve();
  int lead_on();
  int listen();
  int ask();
  int connect();
  int accept();
  int reject();
  int end();
  int fetch();
  int set_option();
  int notify();
  int join();
  int leave();
  int migrate();
  int any();
  std::optional<Message> heard();
  int speak();
  int pause();

  Manager& manager_;
  Device& own_;
  Device& peer_;
  softnic::test::Input& input_;
  std::array<std::shared_ptr<File>, 2> files_;
  std::array<std::uint32_t, 4> ids_{};
  std::uint32_t called_ = 0;  // of whose destination was looked up last
  std::uint32_t asked_ = 0;   // of the last request
  std::uint32_t group_ = 0;
  std::set<EventKind> events_;
  std::mutex heard_mutex_;
  std::deque<Mad> heard_;  // by the peer, the last few
};

}  // namespace gdakit::softnic::uverbs::cm::test
