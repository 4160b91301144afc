// What a PE's host tells its threads: that PEs are lost, or stopped. A thread plays the host.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// What a PE's host does when it hears that another PE is lost.
template <class Pe>
void tell_loss(Pe& pe, std::uint64_t* lost_words, int lost) {
  auto& m = pe.machine();
  PeState* const state = pe.context().state;
  m.store(order::Release<Scope::system>{}, lost_words + lost, Word{1});
  m.store(order::Release<Scope::system>{}, &state->losses, Word{1});
  m.store(order::Release<Scope::system>{}, &state->new_loss, Word(lost) + 1);
}

// So many turns that who waits has looked for what the host tells.
template <class M>
void let_it_be_heard(M& m) {
  for (int turns = 0; turns < 40; ++turns) m.spin(Site::user);
}

bool names_lost(const Status& status, int pe) {
  return status.code == StatusCode::peer_lost && status.peer == pe;
}

// PE 2 is lost. PE 1 sends late, so that PE 0 hears of the loss while it waits for the message.
struct LosesAnother {
  const Witness* witness;
  const Channels* channels;
  std::uint64_t* lost_words;
  Word* buffer;
  Word* told;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      pe.wait_until(told, Compare::eq, 1);
      witness->expect(pe.channel(channels[1]).send(buffer, 1, 0).ok(), "send succeeds");
      return;
    }
    if (m.block_index() == 1) {
      tell_loss(pe, lost_words, 2);
      let_it_be_heard(m);
      pe.put_value(told, Word{1}, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    auto channel = pe.channel(channels[0]);
    witness->expect(channel.post_receive(buffer, sizeof(Word), 1).ok(), "post_receive succeeds");
    witness->expect(channel.wait_receive(1).status.ok(), "a message of PE 1 comes all the same");
  }
};

WorldPointer lost_another(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.channels = 1;
  auto world = std::make_unique<World>("lost-another", world_options);
  auto* buffer = world->allocate<Word>("buffer", 1);
  auto* told = world->allocate<Word>("told", 1, RegionKind::signal);
  const LosesAnother kernel{world->witness(), world->channels(), world->lost_words(), buffer, told};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

// The only PE that could send is lost.
struct LosesSender {
  const Witness* witness;
  const Channels* channels;
  std::uint64_t* lost_words;
  Word* buffer;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.machine().block_index() == 1) return tell_loss(pe, lost_words, 1);
    auto channel = pe.channel(channels[0]);
    channel.post_receive(buffer, sizeof(Word), 1);
    witness->expect(names_lost(channel.wait_receive(1).status, 1), "the wait says who is lost");
  }
};

WorldPointer lost_sender(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.channels = 1;
  auto world = std::make_unique<World>("lost-sender", world_options);
  auto* buffer = world->allocate<Word>("buffer", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1},
                   LosesSender{world->witness(), world->channels(), world->lost_words(), buffer});
  return world;
}

// PE 1 is lost while it has a lock. Who waits for the lock is told so, and who comes later, even
// when the program has acknowledged the loss.
struct LosesHolder {
  const Witness* witness;
  std::uint64_t* lost_words;
  Lock* lock;
  Word* told;  // that PE 1 has the lock
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      witness->expect(pe.set_lock(lock).ok(), "set_lock succeeds");
      pe.put_value(told, Word{1}, 0);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    pe.wait_until(told, Compare::eq, 1);
    if (m.block_index() == 1) return tell_loss(pe, lost_words, 1);
    witness->expect(names_lost(pe.set_lock(lock), 1), "the wait ends and says who is lost");
    m.store(order::Release<Scope::system>{}, &pe.context().state->new_loss, Word{0});
    witness->expect(names_lost(pe.set_lock(lock), 1), "a later set_lock says so, too");
    Status status;
    witness->expect(!pe.test_lock(lock, &status) && names_lost(status, 1), "and so does test_lock");
  }
};

WorldPointer lost_holder(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lost-holder", options_for(options));
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* told = world->allocate<Word>("told", 1, RegionKind::signal);
  const LosesHolder kernel{world->witness(), world->lost_words(), lock, told};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

// A team of PEs 0 and 2 of three. PE 1, or PE 2, is lost while PE 0 waits for PE 2.
struct TeamLoses {
  const Witness* witness;
  std::uint64_t* lost_words;
  Word* told;
  int lost;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      tell_loss(pe, lost_words, lost);
      let_it_be_heard(m);
      if (lost == 2) return;
      pe.put_value(told, Word{1}, 2);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    if (pe.my_pe() == 2) pe.wait_until(told, Compare::eq, 1);
    const Status status = pe.team(Team{1}).sync();
    if (lost == 2) {
      witness->expect(names_lost(status, 2), "the wait ends and says who is lost");
    } else {
      witness->expect(status.ok(), "the loss of no member ends no wait");
    }
  }
};

WorldPointer team_loses(const char* name, const SubjectOptions& options, int lost) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.teams = {{0, 2}};
  auto world = std::make_unique<World>(name, world_options);
  auto* told = world->allocate<Word>("told", 1, RegionKind::signal);
  const TeamLoses kernel{world->witness(), world->lost_words(), told, lost};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  if (lost != 2) world->launch_on(2, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

WorldPointer lost_member(const SubjectOptions& options) {
  return team_loses("lost-member", options, 2);
}

WorldPointer lost_outsider(const SubjectOptions& options) {
  return team_loses("lost-outsider", options, 1);
}

// A wait that takes longer than the watchdog allows, while the host tells for how long nobody has
// been stopped.
struct LongWait {
  static constexpr std::uint64_t kWatchdogNs = 1'000'000;

  const Witness* witness;
  Word* data;
  bool stopped;  // somebody is, all the time
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    PeState* const state = pe.context().state;
    if (m.block_index() == 1) {
      for (Word news = 1; m.load(order::RelaxedSystem{}, data + 1) == 0; ++news) {
        m.store(order::Release<Scope::system>{}, &state->calm_ns,
                stopped ? kNotCalm : kWatchdogNs + news);
        m.spin(Site::user);
      }
      return;
    }
    pe.put_value(data, 1, 1);
    const Status status = pe.quiet();
    if (stopped) {
      witness->expect(status.ok(), "the wait goes on while somebody is stopped");
    } else {
      witness->expect(status.code == StatusCode::stalled, "the wait ends, for nobody is stopped");
    }
    m.store(order::Release<Scope::system>{}, data + 1, Word{1});
  }
};

WorldPointer long_wait(const char* name, const SubjectOptions& options, bool stopped) {
  WorldOptions world_options = options_for(options);
  world_options.watchdog_ns = LongWait::kWatchdogNs;
  world_options.nics_wake_ns = stopped ? 90'000'000'000 : ~std::uint64_t{0};
  world_options.expect_quiet = stopped;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 2, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 1}, LongWait{world->witness(), data, stopped});
  return world;
}

WorldPointer calm(const SubjectOptions& options) { return long_wait("calm", options, false); }

WorldPointer stopped_peer(const SubjectOptions& options) {
  return long_wait("stopped-peer", options, true);
}

constexpr ScenarioEntry kListed[] = {
    {"lost-another", "A wait for one sender goes on when another PE is lost.", make<lost_another>},
    {"lost-sender", "A wait for one sender ends when that is lost.", make<lost_sender>},
    {"lost-holder", "Who wants a lock whose holder is lost is told so.", make<lost_holder>},
    {"lost-member", "A team's wait ends when a member is lost.", make<lost_member>},
    {"lost-outsider", "A team's wait goes on when somebody else is lost.", make<lost_outsider>},
    {"calm", "A wait stalls although the host tells all the time that nobody is stopped.",
     make<calm>},
    {"stopped-peer", "A wait does not stall while the host tells that somebody is stopped.",
     make<stopped_peer>},
};

}  // namespace

constinit const Table kToldTable = kListed;

}  // namespace gdakit::sim::scenarios
