// Errors, stalls, bad arguments, and queues that end with work under way.
#include "device/watchdog.h"
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"
#include "sim/world/world_run.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PE 1 refuses the key: every thread learns of it, whether it posted or only waits.
struct ErrorFlush {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word i = 0; i < 2; ++i) pe.put_value(data + m.block_index(), i + 1, 1);
    const Status status = pe.quiet();
    witness->expect(status.code == StatusCode::queue_error, "quiet says that the queue is broken");
    witness->expect(status.syndrome == format::Syndrome::remote_access ||
                        status.syndrome == format::Syndrome::flushed,
                    "quiet says why the queue is broken");
    witness->expect(!pe.put_value(data, 1, 1).ok(), "a broken queue refuses posts");
  }
};

// The same where a thread waits for tickets. It has not posted the WQE of every one of them by
// itself, and the first error may be another block's.
struct ErrorWait {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    Word* const mine = data + pe.machine().block_index();
    const Ticket first = pe.put_async(mine, mine, 1, 1);
    const Ticket second = pe.put_async(mine, mine, 1, 1, Batch::more);
    for (const Ticket& ticket : {first, second}) {
      const Status status = pe.wait(ticket);
      witness->expect(status.code == StatusCode::queue_error, "the wait says that it has failed");
      Status seen;
      pe.test(ticket, &seen);
      witness->expect(seen.code == StatusCode::queue_error, "so does a look at the ticket");
    }
  }
};

// The NIC sleeps: waits end by the watchdog and are reported.
struct Stalls {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.put_value(data, 1, 1).ok(), "put_value is taken");
    witness->expect(pe.quiet().code == StatusCode::stalled, "quiet says that it has stalled");
  }
};

// Words that nobody writes: the first wait of all stalls, and later ones give up at once.
struct WaitsOn {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 0; i < 2; ++i) {
      const Status status = pe.wait_until(data, Compare::ne, Word{0});
      witness->expect(status.code == StatusCode::stalled, "wait_until says that it has stalled");
    }
  }
};

// Block 1 tells of a loss, as the host would; block 0 waits for what nobody writes.
struct LosesPe1 {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      m.store(order::RelaxedSystem{}, &pe.context().state->new_loss, Word{2});
      return;
    }
    const Status status = pe.wait_until(data, Compare::ne, Word{0});
    witness->expect(status.code == StatusCode::peer_lost && status.peer == 1,
                    "wait_until says that PE 1 is lost");
  }
};

// Some stall and some do not, as it happens.
struct MayStall {
  const Witness* witness;
  Word* data;
  int puts;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < puts; ++i) pe.put_value(data + m.block_index(), 1, 1);
    const Status status = pe.quiet();
    witness->expect(status.ok() || status.code == StatusCode::stalled,
                    "quiet succeeds, or says that it has stalled");
  }
};

// Block 0 posts on its own queue, block 1 waits for it.
struct ExclusiveStall {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      auto own = pe.exclusively_on(1);
      for (int i = 0; i < 2; ++i) own.put_value(data, 1, 1);
      m.store(order::Release<Scope::gpu>{}, data + 1, 1);
      own.put_value(data, 2, 1);
      return;
    }
    while (m.load(order::Acquire<Scope::gpu>{}, data + 1) == 0) m.spin(Site::user);
    witness->expect(pe.quiet().code == StatusCode::stalled, "quiet says that it has stalled");
  }
};

struct BadArgument {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.put_value(data, 1, 7).code == StatusCode::invalid_argument,
                    "there is no PE 7");
    witness->expect(pe.put_value(data, 1, 1).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

struct LeaveBehind {
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    m.store_weak(source + m.block_index(), 4);
    pe.put_nbi(data + m.block_index(), source + m.block_index(), 1, 1);
  }
};

WorldOptions refused_options(const SubjectOptions& options) {
  WorldOptions world_options = breaking(options_for(options), 1);
  return world_options;
}

WorldPointer error_wait(const SubjectOptions& options) {
  auto world = std::make_unique<World>("error-wait", refused_options(options));
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ErrorWait{world->witness(), data});
  return world;
}

WorldPointer flush_by(Handler handler, const char* name, const SubjectOptions& options) {
  WorldOptions world_options = refused_options(options);
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ErrorFlush{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 0 && after.value(1, data + 1) == 0,
                 "nothing was written with a bad key");
    const softnic::QpInfo nic = after.nic_queue(0, 0, 1);
    after.expect(nic.first_error.syndrome == format::Syndrome::remote_access,
                 "the NIC says remote access error");
    after.expect(nic.send_completed == nic.send_producer, "all WQEs are flushed");
    const QueueError error{after.queue_state(0, 0, 1).error};
    after.expect(error.syndrome() != format::Syndrome::remote_access ||
                     error.wqe_index() == nic.first_error.wqe_index,
                 "a remote access error is reported of the WQE that had it");
  });
  return world;
}

WorldPointer error_flush(const SubjectOptions& options) {
  return flush_by(Handler::gpu, "error-flush", options);
}

WorldPointer commands_error(const SubjectOptions& options) {
  return flush_by(Handler::commands, "commands-error", options);
}

WorldPointer watchdog(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.watchdog_ns = 1'000'000;
  world_options.nics_wake_ns = ~std::uint64_t{0};
  world_options.watch_reports = true;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("watchdog", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1}, Stalls{world->witness(), data});
  world->check([=](After& after) {
    const PeState state = after.pe_state(0);
    after.expect(is_complete_report(state.stall.state), "the stall is reported");
    after.expect(state.stall.site == Site::queue_completion && state.stall.peer == 1,
                 "the report says who waits, and for whom");
  });
  return world;
}

WorldPointer stall_again(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.watchdog_ns = 1'000'000;
  world_options.watch_reports = true;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("stall-again", world_options);
  auto* data = world->allocate<Word>("data", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 1}, WaitsOn{world->witness(), data});
  world->check([=](After& after) {
    const PeState state = after.pe_state(0);
    after.expect(is_complete_report(state.stall.state), "the stall is reported");
    after.expect(state.stall.waited_ns >= 1'000'000, "the report is of a wait that was long");
    after.expect(state.gives_up == 1, "later waits of the PE give up");
  });
  return world;
}

WorldPointer lost_peer(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lost-peer", options_for(options));
  auto* data = world->allocate<Word>("data", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 1}, LosesPe1{world->witness(), data});
  return world;
}

WorldPointer impatient(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.watchdog_ns = 1;
  // Shortly before the waits give up, which is at their second look at the clock (execution.cc).
  world_options.nics_wake_ns = 29'000'000'000;
  world_options.watch_reports = true;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("impatient", world_options);
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 3, .threads = 1}, MayStall{world->witness(), data, 4});
  world->check([=](After& after) {
    for (int i = 0; i < 3; ++i) {
      after.expect(after.value(1, data + i) <= 1, "PE 1 has nothing or what was put");
    }
  });
  return world;
}

WorldPointer proxy_stall(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.handler = Handler::proxy;
  world_options.watchdog_ns = 1'000'000;
  world_options.nics_wake_ns = ~std::uint64_t{0};
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("proxy-stall", world_options);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, MayStall{world->witness(), data, 1});
  world->check([=](After& after) {
    after.expect(is_complete_report(after.pe_state(0).stall.state), "the stall is reported");
  });
  return world;
}

WorldPointer exclusive_stall(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  world_options.watchdog_ns = 1'000'000;
  world_options.nics_wake_ns = ~std::uint64_t{0};
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("exclusive-stall", world_options);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ExclusiveStall{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.pe_state(0).stall.queue == 1, "the report names the exclusive queue");
  });
  return world;
}

WorldPointer bad_argument(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.watch_reports = true;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("bad-argument", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1}, BadArgument{world->witness(), data});
  world->check([=](After& after) {
    const PeState state = after.pe_state(0);
    after.expect(is_complete_report(state.fault.state) && state.fault.peer == 7,
                 "the bad argument is reported");
    after.expect(after.value(1, data) == 1, "PE 1 has 1");
  });
  return world;
}

WorldPointer teardown(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.expect_quiet = false;
  world_options.destroy_queues = true;
  auto world = std::make_unique<World>("teardown", world_options);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, LeaveBehind{source, data});
  world->check([=](After& after) {
    for (int i = 0; i < 2; ++i) {
      const Word value = after.value(1, data + i);
      after.expect(value == 0 || value == 4, "PE 1 has nothing or what was put");
    }
  });
  return world;
}

// Nobody sends.
struct NoMessage {
  const Witness* witness;
  const Channels* channels;
  Word* buffer;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[0]);
    witness->expect(channel.post_receive(buffer, sizeof(Word), 1).ok(), "post_receive succeeds");
    witness->expect(channel.wait_receive(1).status.code == StatusCode::stalled,
                    "wait_receive says that it has stalled");
  }
};

WorldPointer receive_stall(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.channels = 1;
  world_options.watchdog_ns = 1'000'000;
  world_options.watch_reports = true;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("receive-stall", world_options);
  auto* buffer = world->allocate<Word>("buffer", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   NoMessage{world->witness(), world->channels(), buffer});
  world->check([=](After& after) {
    const StallReport stall = after.pe_state(0).stall;
    after.expect(is_complete_report(stall.state), "the stall is reported");
    after.expect(
        stall.site == Site::message && stall.peer == 1 && stall.posted == 1 && stall.completed == 0,
        "the report says what was waited for");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"error-flush", "A peer refuses the key; every thread learns of it.", make<error_flush>},
    {"error-wait", "A peer refuses the key; waits for tickets say so.", make<error_wait>},
    {"commands-error", "A peer refuses the key of a command's WQE.", make<commands_error>},
    {"watchdog", "The NIC sleeps; waits end and are reported.", make<watchdog>},
    {"stall-again", "Waits behind a stall give up at once.", make<stall_again>},
    {"lost-peer", "A wait for a word ends when a PE is lost.", make<lost_peer>},
    {"impatient", "Stalls are reported while NIC and other threads go on.", make<impatient>},
    {"proxy-stall", "A stall is reported while a host thread rings.", make<proxy_stall>},
    {"exclusive-stall", "One thread reports a stall of a queue that another one owns.",
     make<exclusive_stall>},
    {"receive-stall", "A wait for a message that nobody sends is reported.", make<receive_stall>},
    {"bad-argument", "A bad argument is reported while the host watches.", make<bad_argument>},
    {"teardown", "Queues are destroyed with work under way.", make<teardown>},
};

}  // namespace

constinit const Table kFailureTable = kListed;

}  // namespace gdakit::sim::scenarios
