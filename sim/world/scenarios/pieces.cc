// What is cut into pieces: values and messages by the borders of chunks, and the elements of
// reductions by what the scratch memory has room for.
#include <array>

#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// One handle reads and writes what lies across borders of the chunks, on either side.
struct AcrossBorders {
  static constexpr int kBytes = 32;   // of the memory that is read; the border is in the middle
  static constexpr int kValueAt = 6;  // the border is behind two bytes of the value

  const Witness* witness;
  std::uint8_t* there;  // kBytes; of PE 1, each holds its number
  std::uint8_t* here;   // kBytes
  Octet* value;
  bool is_exclusive;
  std::uint32_t queue;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (is_exclusive) {
      act(pe.machine(), pe.exclusively_on(queue));
    } else {
      act(pe.machine(), pe.on_queue(queue));
    }
  }

 private:
  template <class M, class Handle>
  void act(M& m, Handle&& handle) const {
    read(m, handle);
    write(handle);
  }

  template <class M, class Handle>
  void read(M& m, Handle& handle) const {
    const auto expect = [&](int at, int number, int count, const char* what) {
      for (int i = 0; i < count; ++i) {
        witness->expect(m.load_weak(here + at + i) == number + i, what);
      }
    };
    witness->expect(handle.get_bytes(here + 13, there + 10, 12, 1).ok(), "get_bytes succeeds");
    expect(13, 10, 12, "the bytes across both borders are there");
    auto* const octets = reinterpret_cast<Octet*>(there + 3);
    auto* const to = reinterpret_cast<Octet*>(here);
    witness->expect(handle.iget(to + 2, octets + 1, -2, 1, 2, 1).ok(), "iget succeeds");
    expect(16, 11, 8, "the octet across the border is there");
    expect(0, 19, 8, "the one behind it is there");
  }

  template <class Handle>
  void write(Handle& handle) const {
    const Octet octet{{50, 51, 52, 53, 54, 55, 56, 57}};
    witness->expect(handle.put_value(value, octet, 1).ok(), "put_value is taken");
    Status status;
    const Octet got = handle.get_value(value, 1, &status);
    witness->expect(status.ok(), "get_value succeeds");
    for (int i = 0; i < 8; ++i) {
      witness->expect(got.bytes[i] == octet.bytes[i], "each byte of the value comes back");
    }
    witness->expect(handle.quiet().ok(), "quiet succeeds");
  }
};

WorldPointer values_across(const char* name, WorldOptions shape, bool is_exclusive,
                           std::uint32_t queue) {
  using Kernel = AcrossBorders;
  auto world = std::make_unique<World>(name, shape);
  auto* there = world->allocate<std::uint8_t>("there", Kernel::kBytes);
  auto* here = world->allocate<std::uint8_t>("here", Kernel::kBytes);
  auto* around = world->allocate<std::uint8_t>("around", 16);
  world->split_at(there + Kernel::kBytes / 2);
  world->split_at(here + Kernel::kBytes / 2);
  world->split_at(around + 8);
  auto* value = reinterpret_cast<Octet*>(around + Kernel::kValueAt);
  for (std::uint8_t i = 0; i < Kernel::kBytes; ++i) world->set(1, there + i, i);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   Kernel{world->witness(), there, here, value, is_exclusive, queue});
  world->check([=](After& after) {
    for (int i = 0; i < 16; ++i) {
      const int number = i - Kernel::kValueAt;
      after.expect_eq("byte " + std::to_string(i), after.value(1, around + i),
                      number >= 0 && number < 8 ? 50 + number : 0);
    }
  });
  return world;
}

WorldPointer border_values(const SubjectOptions& options) {
  return values_across("border-values", options_for(options), false, 0);
}

WorldPointer nics_border_values(const SubjectOptions& options) {
  constexpr std::uint32_t kExclusiveSecondNic = 3;  // behind two shared ones
  WorldOptions shape = two_nics(options);
  shape.exclusive_queues = 2;
  return values_across("nics-border-values", shape, true, kExclusiveSecondNic);
}

// Messages out of as many pieces as one can have, and into as many as a buffer can have; those of
// one more are refused. A put takes as many messages as it has pieces.
struct MostPieces {
  static constexpr int kSent = int(kSendPieces);
  static constexpr int kReceived = int(kReceiveSegments);

  const Witness* witness;
  const Channels* channels;
  Word* source;  // kSent + 1, each in a chunk of its own
  Word* buffer;  // kReceived + 1, likewise
  Word* data;    // kSent + 1
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      send(pe.machine(), channel);
    } else {
      receive(pe.machine(), channel);
    }
  }

 private:
  template <class M, class Channel>
  void send(M& m, Channel& channel) const {
    for (int i = 0; i <= kSent; ++i) m.store_weak(source + i, Word(7 + i));
    witness->expect(channel.send(source, kSent + 1, 1).code == StatusCode::invalid_argument,
                    "a message of too many pieces is refused");
    for (int i = 0; i < 2; ++i) {
      witness->expect(channel.send(source + i, kSent, 1).ok(), "the most pieces are sent");
    }
    witness->expect(channel.put_with_immediate(data, source, kSent + 1, 5, 1).ok(),
                    "a put of more pieces succeeds");
  }

  template <class M, class Channel>
  void receive(M& m, Channel& channel) const {
    constexpr std::size_t kBytes = kReceived * sizeof(Word);
    witness->expect(
        channel.post_receive(buffer, kBytes + sizeof(Word), 0).code == StatusCode::invalid_argument,
        "a buffer of too many pieces is refused");
    for (int i = 0; i < 2; ++i) {
      witness->expect(channel.post_receive(buffer + i, kBytes, 0).ok(), "the most are posted");
      const Received got = channel.wait_receive(0);
      witness->expect(got.status.ok() && got.bytes == kSent * sizeof(Word), "all of it comes");
      for (int k = 0; k < kSent; ++k) {
        witness->expect(m.load_weak(buffer + i + k) == Word(7 + i + k), "each piece is there");
      }
    }
    witness->expect(channel.post_receive(0).ok(), "a receive without a buffer is posted");
    const Received told = channel.wait_receive(0);
    witness->expect(told.status.ok() && told.immediate == 5, "the immediate comes");
    for (int k = 0; k <= kSent; ++k) {
      witness->expect(m.load_weak(data + k) == Word(7 + k), "each piece of the put is there");
    }
  }
};

WorldPointer most_pieces(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.channels = 1;
  shape.expect_quiet = false;  // what is refused is reported
  auto world = std::make_unique<World>("most-pieces", shape);
  auto* source = world->allocate<Word>("source", MostPieces::kSent + 1);
  auto* buffer = world->allocate<Word>("buffer", MostPieces::kReceived + 1);
  auto* data = world->allocate<Word>("data", MostPieces::kSent + 1);
  for (int i = 1; i <= MostPieces::kSent; ++i) world->split_at(source + i);
  for (int i = 1; i <= MostPieces::kReceived; ++i) world->split_at(buffer + i);
  world->launch({.blocks = 1, .threads = 1},
                MostPieces{world->witness(), world->channels(), source, buffer, data});
  return world;
}

// The largest element that is reduced.
struct Wide {
  Word words[kMaxReducedBytes / sizeof(Word)];
};
struct AddWide {
  Wide operator()(Wide a, const Wide& b) const {
    for (std::size_t i = 0; i < std::size(a.words); ++i) a.words[i] += b.words[i];
    return a;
  }
};

// As many elements as two members combine at once, or in one round, and one more. The members'
// share of the scratch memory has room for three.
struct FullRounds {
  static constexpr int kMost = 8;   // of a source
  static constexpr int kRoom = 13;  // of both dests

  const Witness* witness;
  Wide* source;  // kMost
  Wide* dest;    // kRoom
  bool scatters;
  std::array<int, 2> counts;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    const Word me = Word(pe.my_pe());
    Wide* to = dest;
    for (const int count : counts) {
      const auto n = static_cast<std::size_t>(count);
      const Status status = scatters ? team.reduce_scatter(to, source, n, AddWide{})
                                     : team.reduce(to, source, n, AddWide{});
      witness->expect(status.ok(), "the reduction succeeds");
      const Word number = scatters ? me * n : 0;  // of the first element
      for (Word i = 0; i < n; ++i, ++to) {
        const Word wanted = 30 + 2 * (number + i);
        witness->expect(m.load_weak(to->words) == wanted &&
                            m.load_weak(to->words + std::size(to->words) - 1) == 200 + wanted,
                        "both ends of each element are combined");
      }
    }
  }
};

WorldPointer full_rounds(const char* name, CollectiveAlgorithm algorithm, bool scatters,
                         std::array<int, 2> counts, const SubjectOptions& options) {
  WorldOptions shape = options_for(options, 2, algorithm);
  shape.max_message_bytes = 256;
  auto world = std::make_unique<World>(name, shape);
  auto* source = world->allocate<Wide>("source", FullRounds::kMost);
  auto* dest = world->allocate<Wide>("dest", FullRounds::kRoom);
  for (std::uint32_t pe = 0; pe < 2; ++pe) {
    for (Word i = 0; i < FullRounds::kMost; ++i) {
      const Word first = 10 * (1 + pe) + i;
      world->set(pe, source + i, Wide{{first, 0, 0, 0, 0, 0, 0, 100 + first}});
    }
  }
  world->launch({.blocks = 1, .threads = 1},
                FullRounds{world->witness(), source, dest, scatters, counts});
  return world;
}

WorldPointer reduce_at_once(const SubjectOptions& options) {
  return full_rounds("reduce-at-once", CollectiveAlgorithm::linear, false, {3, 4}, options);
}

WorldPointer reduce_rounds(const SubjectOptions& options) {
  return full_rounds("reduce-rounds", CollectiveAlgorithm::linear, false, {6, 7}, options);
}

WorldPointer reduce_tree_rounds(const SubjectOptions& options) {
  return full_rounds("reduce-tree-rounds", CollectiveAlgorithm::logarithmic, false, {1, 2},
                     options);
}

WorldPointer scatter_rounds(const SubjectOptions& options) {
  return full_rounds("reduce-scatter-rounds", CollectiveAlgorithm::automatic, true, {3, 4},
                     options);
}

// A warp puts as many elements at once as a deep queue takes in one post, until the queue has been
// used more than once: their ready bits lie in several words.
struct LongPosts {
  static constexpr std::uint32_t kDepth = 512;
  static constexpr std::uint32_t kElements = kDepth / 4;
  static constexpr Word kPosts = 5;

  const Witness* witness;
  Word* source;  // kElements
  Word* data;    // 2 * kElements
  template <class Pe>
  void operator()(Pe& pe) const {
    auto warp = pe.warp();
    for (Word post = 0; post < kPosts; ++post) {
      for (std::uint32_t i = pe.lane(); i < kElements; i += kWarpSize) {
        pe.machine().store_weak(source + i, 1000 * post + i);
      }
      witness->expect(warp.iput(data, source, 2, 1, kElements, 1).ok(), "iput succeeds");
    }
  }
};

WorldPointer long_posts(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.depth = LongPosts::kDepth;
  auto world = std::make_unique<World>("long-posts", shape);
  auto* source = world->allocate<Word>("source", LongPosts::kElements);
  auto* data = world->allocate<Word>("data", 2 * LongPosts::kElements);
  world->launch_on(0, {.blocks = 1, .threads = kWarpSize},
                   LongPosts{world->witness(), source, data});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < LongPosts::kElements; ++i) {
      after.expect(after.value(1, data + 2 * i) == 1000 * (LongPosts::kPosts - 1) + i,
                   "the last post's elements are there");
    }
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"long-posts", "A warp's posts of as many WQEs as a deep queue takes at once.",
     make<long_posts>},
    {"border-values", "Values and bytes across borders of chunks are written and read.",
     make<border_values>},
    {"nics-border-values", "The same by the owner of a queue of the second NIC.",
     make<nics_border_values>},
    {"most-pieces", "Messages out of and into the most pieces, and one more.", make<most_pieces>},
    {"reduce-at-once", "As many elements as members combine at once, and one more.",
     make<reduce_at_once>},
    {"reduce-rounds", "As many elements as members combine in a round, and one more.",
     make<reduce_rounds>},
    {"reduce-tree-rounds", "As many elements as go up a tree at once, and one more.",
     make<reduce_tree_rounds>},
    {"reduce-scatter-rounds", "As many elements as are scattered in a round, and one more.",
     make<scatter_rounds>},
};

}  // namespace

constinit const Table kPiecesTable = kListed;

}  // namespace gdakit::sim::scenarios
