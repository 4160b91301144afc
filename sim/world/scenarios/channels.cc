// Messages that both sides know of, and immediates (device/channel.h); and channels of PEs with two
// NICs.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kSecondNic = 1;  // the channel of that NIC, where PEs have two

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

// A message on the channel of the second NIC.
struct NicsChannel {
  const Witness* witness;
  const Channels* channels;
  Word* word;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()], kSecondNic);
    if (pe.my_pe() == 0) {
      m.store_weak(word, 8);
      witness->expect(channel.send(word, 1, 1).ok(), "send succeeds");
      return;
    }
    witness->expect(channel.post_receive(word, sizeof(*word), 0).ok(), "post_receive succeeds");
    witness->expect(channel.wait_receive(0).status.ok(), "the message comes");
    witness->expect(m.load_weak(word) == 8, "its bytes are there");
  }
};

// A put on the channel of the second NIC, and a signal that comes behind its completion.
struct NicsChannelPut {
  const Witness* witness;
  const Channels* channels;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      auto channel = pe.channel(channels[0], kSecondNic);
      witness->expect(channel.put_nbi(data, source, 1, 1).ok(), "put_nbi is taken");
      witness->expect(channel.quiet().ok(), "quiet succeeds");
      witness->expect(pe.signal(signal, 1, SignalOp::set, 1).ok(), "signal is taken");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the signal is");
  }
};

// Two blocks put on a channel, which flushes by itself. The first one completes both puts before
// the second one asks for its own, of which it then tells by the first NIC. They take turns by
// words that order nothing.
struct NicsChannelShared {
  const Witness* witness;
  const Channels* channels;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  std::uint64_t* turn;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      if (m.block_index() != 0) return;
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the word comes");
      witness->expect(m.load_weak(data + 1) == 8, "the data is there when the word is");
      return;
    }
    const std::uint32_t self = m.block_index();
    auto channel = pe.channel(channels[0], kSecondNic);
    if (self == 0) wait_for_turn(m, 1);
    m.store_weak(source + self, 8);
    const Ticket put = channel.put_async(data + self, source + self, 1, 1);
    if (self == 1) {
      m.store(order::RelaxedGpu{}, turn, 1);
      wait_for_turn(m, 2);
    }
    witness->expect(channel.wait(put).ok(), "the put completes");
    if (self == 0) return m.store(order::RelaxedGpu{}, turn, 2);
    witness->expect(pe.on_queue(0).put_value(signal, 1, 1).ok(), "put_value is taken");
  }
  template <class M>
  void wait_for_turn(M& m, std::uint64_t number) const {
    while (m.load(order::RelaxedGpu{}, turn) != number) m.spin(Site::user);
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
  auto world = world_of("fill-pages", world_options);
  auto* pages = world->allocate<Word>("pages", 2);
  auto* source = world->allocate<Word>("source", 2);
  world->launch_on(0, {.blocks = 1, .threads = 2},
                   FillPages{world->witness(), world->channels(), pages, source});
  world->launch_on(1, {.blocks = 1, .threads = 1},
                   WaitForPages{world->witness(), world->channels(), pages});
  return world;
}

WorldOptions channels_of_two_nics(const SubjectOptions& options) {
  WorldOptions world = two_nics(options);
  world.channels = 2;
  return world;
}

WorldPointer nics_channel(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-channel", channels_of_two_nics(options));
  auto* word = world->allocate<Word>("word", 1);
  world->launch({.blocks = 1, .threads = 1},
                NicsChannel{world->witness(), world->channels(), word});
  return world;
}

WorldPointer nics_channel_put(const SubjectOptions& options) {
  auto world = world_of("nics-channel-put", channels_of_two_nics(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                NicsChannelPut{world->witness(), world->channels(), source, data, signal});
  return world;
}

WorldPointer nics_channel_shared(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-channel-shared", channels_of_two_nics(options));
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  auto* turn = world->allocate<std::uint64_t>("turn", 1);
  world->launch({.blocks = 2, .threads = 1},
                NicsChannelShared{world->witness(), world->channels(), source, data, signal, turn});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"receive", "Messages behind puts arrive in one buffer, which is posted again.", make<receive>},
    {"proxy-receive", "The same with a proxy that rings.", make<proxy_receive>},
    {"fill-pages", "Two lanes put pages, an immediate tells of them.", make<fill_pages>},
    {"nics-channel", "A message on a channel of the second NIC.", make<nics_channel>},
    {"nics-channel-put", "A put on that channel, and a signal behind its completion.",
     make<nics_channel_put>},
    {"nics-channel-shared",
     "Two blocks put on a channel of the second NIC, one tells by the first.",
     make<nics_channel_shared>},
    {"placed-fill-pages", "An immediate tells of pages that are placed in any order.",
     make_placed<fill_pages>},
    {"placed-nics-channel-put", "A put on a channel of the second NIC, placed in any order.",
     make_placed<nics_channel_put>},
};

}  // namespace

constinit const Table kChannelsTable = kListed;

}  // namespace gdakit::sim::scenarios
