// Channels of which not all is well or usual: one that breaks when messages have come, buffers of
// odd sizes, three NICs, and a PE to which there is no channel.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Two messages of PE 0 have come when a put of PE 1 breaks the channel: PE 1 gets both, and then
// hears of the error.
struct BrokenMailbox {
  const Witness* witness;
  const Channels* channels;
  Word* words;          // 3
  std::uint64_t* told;  // of both messages
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      send(pe, channel);
    } else {
      receive(pe, channel);
    }
  }

 private:
  template <class Pe, class Channel>
  void send(Pe& pe, Channel& channel) const {
    for (Word i = 0; i < 2; ++i) {
      pe.machine().store_weak(words + i, 5 + i);
      witness->expect(channel.send(words + i, 1, 1).ok(), "send succeeds");
    }
    witness->expect(pe.put_value(told, 1, 1).ok(), "put_value is taken");
  }

  template <class Pe, class Channel>
  void receive(Pe& pe, Channel& channel) const {
    auto& m = pe.machine();
    for (int i = 0; i < 3; ++i) {
      witness->expect(channel.post_receive(words + i, sizeof(Word), 0).ok(), "a receive is posted");
    }
    witness->expect(pe.wait_until(told, Compare::eq, 1).ok(), "both messages are sent");
    const Ticket put = channel.put_async(words, words, 1, 0);
    const Status broken = channel.wait(put);
    witness->expect(broken.code == StatusCode::queue_error &&
                        broken.syndrome == format::Syndrome::remote_access,
                    "the put with a wrong key fails");
    for (int i = 0; i < 2; ++i) {
      const Received got = i == 0 ? channel.poll_receive(0) : channel.wait_receive_any();
      witness->expect(got.status.ok() && got.peer == 0 && got.buffer == words + i,
                      "a message that had come is not lost");
      witness->expect(m.load_weak(words + i) == Word(5 + i), "its bytes are there");
    }
    witness->expect(channel.wait_receive(0).status == broken, "no other message will come");
    witness->expect(channel.send_nbi(words, 1, 0) == broken, "a broken channel refuses sends");
  }
};

// A message that fits into an odd buffer to the byte, over a border of chunks at either end, and
// one that is a byte too long for the next buffer. The bytes around the buffers stay.
struct OddBuffers {
  static constexpr std::size_t kRoom = 5;
  static constexpr std::size_t kBuffers[2] = {3, 19};  // where they begin
  static constexpr std::size_t kBytes = 40;

  const Witness* witness;
  const Channels* channels;
  std::uint8_t* bytes;    // kBytes
  std::uint8_t* message;  // kRoom + 1
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      for (std::size_t i = 0; i <= kRoom; ++i) m.store_weak(message + i, std::uint8_t(10 + i));
      witness->expect(channel.send(message, kRoom, 1).ok(), "the first message is sent");
      const Status status = channel.send(message, kRoom + 1, 1);
      witness->expect(status.code == StatusCode::queue_error &&
                          status.syndrome == format::Syndrome::remote_invalid_request,
                      "the send of a byte more fails");
      return;
    }
    for (const std::size_t at : kBuffers) {
      witness->expect(channel.post_receive(bytes + at, kRoom, 0).ok(), "a receive is posted");
    }
    const Received fits = channel.wait_receive(0);
    witness->expect(fits.status.ok() && fits.bytes == kRoom && fits.buffer == bytes + kBuffers[0],
                    "the first message fits");
    for (std::size_t i = 0; i < kRoom; ++i) {
      witness->expect(m.load_weak(bytes + kBuffers[0] + i) == 10 + i, "its bytes are there");
    }
    const Received got = channel.wait_receive(0);
    witness->expect(got.status.code == StatusCode::queue_error &&
                        got.status.syndrome == format::Syndrome::local_length,
                    "the receiver learns that the second one is too long");
  }

  static bool is_of_buffer(std::size_t i) {
    for (const std::size_t at : kBuffers) {
      if (i >= at && i < at + kRoom) return true;
    }
    return false;
  }
};

// A put and a message on each of three channels, each of another NIC.
struct ThreeNics {
  static constexpr std::uint32_t kNics = 3;

  const Witness* witness;
  const Channels* channels;
  Word* data;    // kNics
  Word* words;   // kNics: sent, received
  Word* source;  // kNics: put
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t i = 0; i < kNics; ++i) {
      auto channel = pe.channel(channels[pe.my_pe()], i);
      if (pe.my_pe() == 1) {
        witness->expect(channel.post_receive(words + i, sizeof(Word), 0).ok(),
                        "a receive is posted");
        continue;
      }
      m.store_weak(source + i, Word{20} + i);
      m.store_weak(words + i, Word{30} + i);
      witness->expect(channel.put_nbi(data + i, source + i, 1, 1, Batch::more).ok(),
                      "put_nbi is taken");
      witness->expect(channel.send_nbi(words + i, 1, 1).ok(), "send_nbi is taken");
    }
    for (std::uint32_t i = 0; i < kNics && pe.my_pe() == 1; ++i) {
      auto channel = pe.channel(channels[pe.my_pe()], i);
      witness->expect(channel.wait_receive(0).status.ok(), "the message comes");
      witness->expect(m.load_weak(words + i) == Word{30} + i, "its bytes are there");
      witness->expect(m.load_weak(data + i) == Word{20} + i, "what was put before it is there");
    }
  }
};

// PE 0 has no channel to PE 1, and so puts to the one behind it, waits for all, writes the source
// again and tells of the put. PE 2 answers by a message.
struct BehindGap {
  const Witness* witness;
  const Channels* channels;
  Word* source;
  Word* data;
  Word* answer;
  std::uint64_t* told;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      put(pe);
    } else {
      reply(pe);
    }
  }

 private:
  static constexpr int kGap = 1;
  static constexpr int kBehind = 2;

  template <class Pe>
  void put(Pe& pe) const {
    auto& m = pe.machine();
    // What PE 0 is shown of the channels where it is not connected with PE 1.
    Channels mine = channels[0];
    QueueView queues[kBehind + 1];
    ReceiveView receives[kBehind + 1];
    for (int to = 0; to <= kBehind; ++to) {
      queues[to] = to == kGap ? QueueView{} : mine.queues[to];
      receives[to] = to == kGap ? ReceiveView{} : mine.receives[to];
    }
    mine.queues = queues;
    mine.receives = receives;
    auto channel = pe.channel(mine);
    witness->expect(channel.post_receive(answer, sizeof(Word), kBehind).ok(),
                    "a receive is posted");
    m.store_weak(source, 8);
    witness->expect(channel.put_nbi(data, source, 1, kBehind).ok(), "put_nbi is taken");
    witness->expect(channel.quiet().ok(), "quiet succeeds");
    m.store_weak(source, 9);
    witness->expect(pe.put_value(told, 1, kBehind).ok(), "put_value is taken");
    const Received got = channel.wait_receive_any();
    witness->expect(got.status.ok() && got.peer == kBehind, "the answer comes");
    witness->expect(m.load_weak(answer) == 10, "its bytes are there");
  }

  template <class Pe>
  void reply(Pe& pe) const {
    auto& m = pe.machine();
    witness->expect(pe.wait_until(told, Compare::eq, 1).ok(), "the word comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the word is");
    m.store_weak(answer, 10);
    witness->expect(pe.channel(channels[kBehind]).send(answer, 1, 0).ok(), "send succeeds");
  }
};

WorldPointer messages_before_error(const SubjectOptions& options) {
  WorldOptions world_options = breaking(options_for(options), 0);
  world_options.channels = 1;
  world_options.receive_depth = 4;
  auto world = std::make_unique<World>("messages-before-error", world_options);
  auto* words = world->allocate<Word>("words", 3);
  auto* told = world->allocate<std::uint64_t>("told", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                BrokenMailbox{world->witness(), world->channels(), words, told});
  return world;
}

WorldPointer odd_buffers(const SubjectOptions& options) {
  constexpr std::uint8_t kAround = 0xee;
  WorldOptions world_options = breaking(options_for(options));
  world_options.channels = 1;
  auto world = std::make_unique<World>("odd-buffers", world_options);
  auto* bytes = world->allocate<std::uint8_t>("bytes", OddBuffers::kBytes);
  auto* message = world->allocate<std::uint8_t>("message", OddBuffers::kRoom + 1);
  for (std::size_t i = 0; i < OddBuffers::kBytes; ++i) world->set(1, bytes + i, kAround);
  world->split_at(bytes + OddBuffers::kBuffers[0] + 2);
  world->split_at(message + 3);
  world->launch({.blocks = 1, .threads = 1},
                OddBuffers{world->witness(), world->channels(), bytes, message});
  world->check([=](After& after) {
    for (std::size_t i = 0; i < OddBuffers::kBytes; ++i) {
      if (OddBuffers::is_of_buffer(i)) continue;
      after.expect(after.value(1, bytes + i) == kAround, "the bytes around the buffers stay");
    }
  });
  return world;
}

WorldPointer three_nics(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.nics = world_options.queues = world_options.channels = ThreeNics::kNics;
  world_options.receive_depth = 1;
  auto world = std::make_unique<World>("three-nics-channels", world_options);
  auto* data = world->allocate<Word>("data", ThreeNics::kNics);
  auto* words = world->allocate<Word>("words", ThreeNics::kNics);
  auto* source = world->allocate<Word>("source", ThreeNics::kNics);
  world->launch({.blocks = 1, .threads = 1},
                ThreeNics{world->witness(), world->channels(), data, words, source});
  return world;
}

WorldPointer behind_gap(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.channels = 1;
  auto world = std::make_unique<World>("channel-behind-gap", world_options);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  auto* answer = world->allocate<Word>("answer", 1);
  auto* told = world->allocate<std::uint64_t>("told", 1, RegionKind::signal);
  const BehindGap kernel{world->witness(), world->channels(), source, data, answer, told};
  world->launch_on(0, {.blocks = 1, .threads = 1}, kernel);
  world->launch_on(2, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"messages-before-error", "A channel breaks when two messages have come, which are taken out.",
     make<messages_before_error>},
    {"odd-buffers", "Messages that fit into odd buffers, and one that is a byte too long.",
     make<odd_buffers>},
    {"three-nics-channels", "Puts and messages on channels of three NICs.", make<three_nics>},
    {"channel-behind-gap", "Quiet of a channel to a PE behind one to which there is none.",
     make<behind_gap>},
};

}  // namespace

constinit const Table kMailboxesTable = kListed;

}  // namespace gdakit::sim::scenarios
