// Channels at their limits: receives that are too many or too small, batches, tests, turns.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PE 1 posts as many receives as there is room for, and is refused one more. Of the messages the
// first takes a buffer, and the next one none.
struct ReceiveRoom {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 3
  std::uint64_t* ready;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      m.store_weak(words, 5);
      witness->expect(pe.wait_until(ready, Compare::eq, 1).ok(), "the receives are posted");
      witness->expect(channel.send(words, 1, 1).ok() && channel.send(words, 1, 1).ok(),
                      "both messages are sent");
      witness->expect(pe.wait_until(ready, Compare::eq, 2).ok(), "one more receive is posted");
      Word* const nothing = nullptr;
      witness->expect(channel.put_with_immediate(nothing, nothing, 0, 7, 1).ok(),
                      "the immediate is sent");
      return;
    }
    post(channel, 0);
    post(channel, 1);
    witness->expect(
        channel.post_receive(words + 2, sizeof(Word), 0).code == StatusCode::invalid_argument,
        "there is no room for a third receive");
    tell(pe, 1);
    for (int i = 0; i < 2; ++i) {
      const Received got = channel.wait_receive(0);
      witness->expect(got.status.ok() && got.buffer == words + i, "each buffer gets its message");
      witness->expect(m.load_weak(words + i) == 5, "the message is there");
    }
    witness->expect(channel.post_receive(0).ok(), "a receive without a buffer is posted");
    tell(pe, 2);
    const Received got = channel.wait_receive(0);
    witness->expect(got.status.ok() && got.buffer == nullptr && got.immediate == 7,
                    "the immediate has taken the receive without a buffer");
  }

 private:
  template <class Channel>
  void post(Channel& channel, int at) const {
    witness->expect(channel.post_receive(words + at, sizeof(Word), 0).ok(), "a receive is posted");
  }
  template <class Pe>
  void tell(Pe& pe, Word value) const {
    witness->expect(pe.put_value(ready, value, 0).ok(), "put_value is taken");
  }
};

// A message that is longer than its buffer breaks the channel at both ends.
struct MessageTooLong {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 4
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      witness->expect(channel.send(words, 4, 1).code == StatusCode::queue_error, "the send fails");
      return;
    }
    witness->expect(channel.post_receive(words, 2 * sizeof(Word), 0).ok(), "a receive is posted");
    const Received got = channel.wait_receive(0);
    witness->expect(got.status.code == StatusCode::queue_error &&
                        got.status.syndrome == format::Syndrome::local_length,
                    "the receiver learns that the message is too long");
  }
};

// A put with a wrong key breaks the channel, and its receive is flushed: the receiver is told of
// the put.
struct PutBreaksReceive {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    witness->expect(channel.post_receive(words, sizeof(Word), 1).ok(), "a receive is posted");
    witness->expect(channel.put_nbi(words + 1, words + 1, 1, 1).ok(), "put_nbi is taken");
    const Received got = channel.wait_receive(1);
    witness->expect(got.status.code == StatusCode::queue_error &&
                        got.status.syndrome == format::Syndrome::remote_access,
                    "the receiver learns what broke the channel");
  }
};

// Batches of a channel that end with quiet, and with a send that is refused.
struct BatchesOfMessages {
  const Witness* witness;
  const Channels* channels;
  Word* stranger;  // in no symmetric heap
  Word* words;     // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    for (int i = 0; i < 2; ++i) {
      if (pe.my_pe() == 0) {
        m.store_weak(words + i, 5);
        witness->expect(channel.send_nbi(words + i, 1, 1, Batch::more).ok(), "send_nbi is taken");
        if (i == 0) {
          witness->expect(channel.quiet().ok(), "quiet succeeds");
          m.store_weak(words, Word{9});
        }
        if (i == 1) witness->expect(!channel.send_nbi(stranger, 1, 1).ok(), "a send is refused");
      } else {
        witness->expect(channel.post_receive(words + i, sizeof(Word), 0).ok(),
                        "a receive is posted");
        witness->expect(channel.wait_receive(0).status.ok(), "the message comes");
        witness->expect(m.load_weak(words + i) == 5, "its bytes are there");
      }
    }
  }
};

// Looks until the second of two sends is done, and then writes its source again.
struct TestOfSend {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 1) {
      for (int i = 0; i < 2; ++i) {
        witness->expect(channel.post_receive(words + i, sizeof(Word), 0).ok(),
                        "a receive is posted");
      }
      for (int i = 0; i < 2; ++i) {
        witness->expect(channel.wait_receive(0).status.ok(), "the message comes");
        witness->expect(m.load_weak(words + i) == 5, "its bytes are there");
      }
      return;
    }
    for (int i = 0; i < 2; ++i) m.store_weak(words + i, 5);
    witness->expect(channel.send_nbi(words, 1, 1).ok(), "send_nbi is taken");
    const Ticket second = channel.send_async(words + 1, 1, 1);
    Status status;
    while (!channel.test(second, &status)) m.spin(Site::user);
    witness->expect(status.ok(), "the send succeeds");
    m.store_weak(words + 1, 9);
  }
};

// PEs 1 and 2 have both sent twice when PE 0 looks: it hears them by turns.
struct Turns {
  const Witness* witness;
  const Channels* channels;
  Word* words;           // 4
  std::uint64_t* ready;  // one of each sender, and one of PE 0 for both
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) return listen(pe, channel);
    witness->expect(pe.wait_until(ready, Compare::eq, 1).ok(), "the receives are posted");
    for (int i = 0; i < 2; ++i) witness->expect(channel.send(words, 1, 0).ok(), "send succeeds");
    witness->expect(pe.put_value(ready + pe.my_pe(), 1, 0).ok(), "put_value is taken");
  }

 private:
  template <class Pe, class Channel>
  void listen(Pe& pe, Channel& channel) const {
    for (int i = 0; i < 4; ++i) {
      witness->expect(channel.post_receive(words + i, sizeof(Word), 1 + i / 2).ok(),
                      "a receive is posted");
    }
    for (int to = 1; to <= 2; ++to) {
      witness->expect(pe.put_value(ready, 1, to).ok(), "put_value is taken");
    }
    for (int from = 1; from <= 2; ++from) {
      witness->expect(pe.wait_until(ready + from, Compare::eq, 1).ok(), "a PE has sent twice");
    }
    const Received first = channel.wait_receive_any();
    const Received second = channel.wait_receive_any();
    witness->expect(first.status.ok() && second.status.ok(), "two messages are there");
    witness->expect(first.peer != second.peer, "they are of two PEs");
    for (int i = 0; i < 2; ++i) {
      witness->expect(channel.wait_receive_any().status.ok(), "the others are there, too");
    }
  }
};

// A put over the border of two chunks, whose immediate takes one receive.
struct ImmediateOverBorder {
  const Witness* witness;
  const Channels* channels;
  Word* source;  // 4
  Word* data;    // 4, with the border in the middle
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < 4; ++i) m.store_weak(source + i, 5 + i);
      witness->expect(channel.put_with_immediate(data, source, 4, 7, 1).ok(), "the put succeeds");
      return;
    }
    for (int i = 0; i < 2; ++i)
      witness->expect(channel.post_receive(0).ok(), "a receive is posted");
    witness->expect(channel.wait_receive(0).status.ok(), "the immediate comes");
    for (Word i = 0; i < 4; ++i) {
      witness->expect(m.load_weak(data + i) == 5 + i, "all of the put is there with it");
    }
    witness->expect(channel.receives_posted(0) == 1, "it has taken one receive");
  }
};

WorldOptions channel_options(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.channels = 1;
  return world_options;
}

WorldPointer receive_room(const SubjectOptions& options) {
  WorldOptions world_options = channel_options(options);
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = std::make_unique<World>("receive-room", world_options);
  auto* words = world->allocate<Word>("words", 3);
  auto* ready = world->allocate<std::uint64_t>("ready", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                ReceiveRoom{world->witness(), world->channels(), words, ready});
  return world;
}

WorldPointer message_too_long(const SubjectOptions& options) {
  auto world = std::make_unique<World>("message-too-long", breaking(channel_options(options)));
  auto* words = world->allocate<Word>("words", 4);
  world->launch({.blocks = 1, .threads = 1},
                MessageTooLong{world->witness(), world->channels(), words});
  return world;
}

WorldPointer put_breaks_receive(const SubjectOptions& options) {
  WorldOptions world_options = breaking(channel_options(options), 1);
  auto world = std::make_unique<World>("put-breaks-receive", world_options);
  auto* words = world->allocate<Word>("words", 2);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   PutBreaksReceive{world->witness(), world->channels(), words});
  return world;
}

WorldPointer batches_of_messages(const SubjectOptions& options) {
  static Word stranger = 0;
  WorldOptions world_options = channel_options(options);
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = std::make_unique<World>("send-batch", world_options);
  auto* words = world->allocate<Word>("words", 2);
  world->launch({.blocks = 1, .threads = 1},
                BatchesOfMessages{world->witness(), world->channels(), &stranger, words});
  return world;
}

WorldPointer test_of_send(const SubjectOptions& options) {
  auto world = std::make_unique<World>("send-test", channel_options(options));
  auto* words = world->allocate<Word>("words", 2);
  world->launch({.blocks = 1, .threads = 1},
                TestOfSend{world->witness(), world->channels(), words});
  return world;
}

WorldPointer turns(const SubjectOptions& options) {
  WorldOptions world_options = channel_options(options);
  world_options.pes = 3;
  auto world = std::make_unique<World>("receive-turns", world_options);
  auto* words = world->allocate<Word>("words", 4);
  auto* ready = world->allocate<std::uint64_t>("ready", 3, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                Turns{world->witness(), world->channels(), words, ready});
  return world;
}

WorldPointer immediate_over_border(const SubjectOptions& options) {
  auto world = std::make_unique<World>("immediate-over-border", channel_options(options));
  auto* source = world->allocate<Word>("source", 4);
  auto* data = world->allocate<Word>("data", 4);
  world->split_at(data + 2);
  world->launch({.blocks = 1, .threads = 1},
                ImmediateOverBorder{world->witness(), world->channels(), source, data});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"receive-room", "Receives are posted until one is refused.", make<receive_room>},
    {"message-too-long", "A message is longer than its buffer.", make<message_too_long>},
    {"put-breaks-receive", "A put with a wrong key breaks a channel that waits for a message.",
     make<put_breaks_receive>},
    {"send-batch", "Batches of messages end with quiet, and with a refused send.",
     make<batches_of_messages>},
    {"send-test", "A thread looks whether its message is sent.", make<test_of_send>},
    {"receive-turns", "Messages of two PEs are heard by turns.", make<turns>},
    {"immediate-over-border", "A put over the border of two chunks brings one immediate.",
     make<immediate_over_border>},
};

}  // namespace

constinit const Table kMessagesTable = kListed;

}  // namespace gdakit::sim::scenarios
