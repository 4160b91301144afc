// Messages that both sides know of, and immediates (device/channel.h).
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr Word kPut = 30;   // + round: what is put before a message
constexpr Word kSent = 40;  // + round: what is sent

// PE 0 puts a word and sends another one, in each round.
struct SendBehindPut {
  const Witness* witness;
  const Channels* channels;
  Word* data;    // [rounds]
  Word* source;  // [2 * rounds]
  Word rounds;

  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    for (Word i = 0; i < rounds; ++i) {
      Word* const put = source + 2 * i;
      m.store_weak(put, kPut + i);
      m.store_weak(put + 1, kSent + i);
      const Status status = channel.put_nbi(data + i, put, 1, 1, Batch::more);
      witness->expect(status.ok() && channel.send_nbi(put + 1, 1, 1).ok(), "the message is taken");
    }
    witness->expect(channel.quiet().ok(), "quiet succeeds");
  }
};

// PE 1 receives them in one buffer, which it posts again once it has read it.
struct ReceiveInOneBuffer {
  const Witness* witness;
  const Channels* channels;
  Word* data;
  Word* buffer;
  Word rounds;

  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    for (Word i = 0; i < rounds; ++i) {
      witness->expect(channel.post_receive(buffer, sizeof(Word), 0).ok(), "post_receive succeeds");
      const Received got = channel.wait_receive(0);
      witness->expect(got.status.ok() && got.peer == 0 && got.bytes == sizeof(Word) &&
                          got.buffer == buffer && got.number == i,
                      "the message is described");
      witness->expect(m.load_weak(buffer) == kSent + i, "the message is there");
      witness->expect(m.load_weak(data + i) == kPut + i, "what was put before it is there");
    }
  }
};

WorldPointer send_receive(const char* name, const SubjectOptions& options, Word rounds,
                          Handler handler) {
  WorldOptions world_options = options_for(options);
  world_options.channels = 1;
  world_options.receive_depth = 1;  // so that each receive takes the place of the last one
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", rounds);
  auto* source = world->allocate<Word>("source", 2 * rounds);
  auto* buffer = world->allocate<Word>("buffer", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   SendBehindPut{world->witness(), world->channels(), data, source, rounds});
  world->launch_on(1, {.blocks = 1, .threads = 1},
                   ReceiveInOneBuffer{world->witness(), world->channels(), data, buffer, rounds});
  return world;
}

WorldPointer receive(const SubjectOptions& options) {
  return send_receive("receive", options, 2, Handler::gpu);
}

WorldPointer proxy_receive(const SubjectOptions& options) {
  return send_receive("proxy-receive", options, 1, Handler::proxy);
}

// Two lanes of PE 0 put a page each, and one of them names the request by an immediate.
struct FillPages {
  const Witness* witness;
  const Channels* channels;
  Word* pages;
  Word* source;

  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    const std::uint32_t lane = m.lane();
    m.store_weak(source + lane, kPut + lane);
    const Ticket put = channel.put_async(pages + lane, source + lane, 1, 1, Batch::more);
    witness->expect(put.status.ok(), "put_async is taken");
    m.sync_block();
    if (lane != 0) return;
    Word* const nothing = nullptr;
    witness->expect(channel.put_with_immediate(nothing, nothing, 0, 7, 1).ok(),
                    "put_with_immediate succeeds");
  }
};

struct WaitForPages {
  const Witness* witness;
  const Channels* channels;
  Word* pages;

  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    witness->expect(channel.post_receive(0).ok(), "post_receive succeeds");
    const Received got = channel.wait_receive_any();
    witness->expect(got.status.ok() && got.peer == 0 && got.is_put && got.immediate == 7,
                    "the immediate names the request");
    for (Word i = 0; i < 2; ++i) {
      witness->expect(m.load_weak(pages + i) == kPut + i, "every page is there");
    }
  }
};

WorldPointer fill_pages(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.channels = 1;
  auto world = std::make_unique<World>("fill-pages", world_options);
  auto* pages = world->allocate<Word>("pages", 2);
  auto* source = world->allocate<Word>("source", 2);
  world->launch_on(0, {.blocks = 1, .threads = 2},
                   FillPages{world->witness(), world->channels(), pages, source});
  world->launch_on(1, {.blocks = 1, .threads = 1},
                   WaitForPages{world->witness(), world->channels(), pages});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"receive", "Messages behind puts arrive in one buffer, which is posted again.", make<receive>},
    {"proxy-receive", "The same with a proxy that rings.", make<proxy_receive>},
    {"fill-pages", "Two lanes put pages, an immediate tells of them.", make<fill_pages>},
};

}  // namespace

constinit const Table kChannelsTable = kListed;

}  // namespace gdakit::sim::scenarios
