// Elements that lie apart and are shared unevenly, also on queues of DC; and words that are waited
// for and compared as their types ask for.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PE 0 puts 1 to kMost elements to each other PE and gets as many, by a group whose lanes they do
// not fit evenly. Those that it puts lie 2 apart there, those that it gets 3 apart here.
template <class Group>
struct UnevenElements {
  static constexpr int kMost = 5;
  static constexpr int kPutRoom = 2 * (kMost + 1);
  static constexpr int kGetRoom = 3 * (kMost + 1);

  const Witness* witness;
  Word* source;  // kMost + 1
  Word* data;    // kPutRoom for each count
  Word* there;   // kMost + 1
  Word* got;     // kGetRoom for each count and PE
  int first_count;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.thread_index() == 0) {
      for (int i = 0; i <= kMost; ++i) m.store_weak(source + i, Word(7 + i));
    }
    Word* to = got;
    for (int count = first_count; count <= kMost; count += 2) {
      for (int peer = 1; peer < pe.n_pes(); ++peer, to += kGetRoom) {
        const auto elements = static_cast<std::size_t>(count);
        const Status put =
            group(pe).iput_nbi(data + kPutRoom * count, source, 2, 1, elements, peer);
        witness->expect(put.ok(), "iput_nbi is taken");
        witness->expect(group(pe).iget(to, there, 3, 1, elements, peer).ok(), "iget succeeds");
        for (int i = 0; i < kGetRoom; ++i) {
          const bool is_element = i % 3 == 0 && i < 3 * count;
          witness->expect(m.load_weak(to + i) == (is_element ? Word(10 * peer + i / 3) : 0),
                          "the elements are here, and nothing else");
        }
      }
    }
    witness->expect(group(pe).quiet().ok(), "quiet succeeds");
  }

 private:
  template <class Pe>
  static auto group(Pe& pe) {
    if constexpr (std::is_same_v<Group, WarpGroup>) {
      return pe.warp();
    } else if constexpr (std::is_same_v<Group, BlockGroup>) {
      return pe.block();
    } else {
      return pe;
    }
  }
};

template <class Group>
WorldPointer uneven(const char* name, const WorldOptions& options, std::uint32_t threads,
                    int first_count, Reached reached) {
  using Kernel = UnevenElements<Group>;
  auto world = world_of(name, options, reached);
  constexpr std::size_t kElements = Kernel::kMost + 1;
  auto* source = world->allocate<Word>("source", kElements);
  auto* data = world->allocate<Word>("data", kElements * Kernel::kPutRoom);
  auto* there = world->allocate<Word>("there", kElements);
  auto* got = world->allocate<Word>("got", 3 * (options.pes - 1) * Kernel::kGetRoom);
  for (std::uint32_t pe = 1; pe < options.pes; ++pe) {
    for (int i = 0; i <= Kernel::kMost; ++i) world->set(pe, there + i, Word(10 * int(pe) + i));
  }
  world->launch_on(0, {.blocks = 1, .threads = threads},
                   Kernel{world->witness(), source, data, there, got, first_count});
  world->check([=, pes = options.pes](After& after) {
    for (std::uint32_t pe = 1; pe < pes; ++pe) {
      for (int count = first_count; count <= Kernel::kMost; count += 2) {
        for (int i = 0; i < Kernel::kPutRoom; ++i) {
          const bool is_element = i % 2 == 0 && i < 2 * count;
          after.expect_eq("place " + std::to_string(i) + " of " + std::to_string(count),
                          after.value(pe, data + Kernel::kPutRoom * count + i),
                          is_element ? Word(7 + i / 2) : 0);
        }
      }
    }
  });
  return world;
}

WorldPointer odd_elements(const SubjectOptions& options, Reached reached) {
  return uneven<WarpGroup>("odd-elements", options_for(options), 2, 1, reached);
}

WorldPointer even_elements(const SubjectOptions& options, Reached reached) {
  return uneven<BlockGroup>("even-elements", options_for(options), 3, 2, reached);
}

WorldOptions dc_options(const SubjectOptions& options) {
  WorldOptions world = options_for(options);
  world.pes = 3;
  world.dc_queues = 1;
  return world;
}

WorldPointer dc_elements(const SubjectOptions& options) {
  return uneven<ThreadGroup>("dc-elements", dc_options(options), 1, 3, Reached::through_nic);
}

WorldPointer dc_warp_elements(const SubjectOptions& options) {
  return uneven<WarpGroup>("dc-warp-elements", dc_options(options), 2, 3, Reached::through_nic);
}

// PE 0 puts and gets elements backwards, of a word's size or larger, and gets one to many places.
template <class T>
struct Backwards {
  static constexpr int kCount = 3;
  static constexpr int kRoom = 2 * kCount;

  const Witness* witness;
  T* source;  // kCount
  T* data;    // kRoom
  T* there;   // kRoom
  T* got;     // kRoom, and kRoom
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < kCount; ++i) {
      const T value{static_cast<std::uint32_t>(7 + i)};
      m.copy(source + i, &value, sizeof(T));
    }
    T* const last = data + kRoom - 1;
    witness->expect(pe.iput_nbi(last, source, -2, 1, kCount, 1).ok(), "iput_nbi is taken");
    T* const end = got + kRoom - 1;
    witness->expect(pe.iget_nbi(end, there + kRoom - 1, -1, -2, kCount, 1).ok(),
                    "iget_nbi is taken");
    witness->expect(pe.iget_nbi(end + 1, there, 2, 0, kCount, 1).ok(),
                    "iget_nbi of one element is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    for (int i = 0; i < kRoom; ++i) {
      const int behind = kRoom - 1 - i;
      witness->expect(first_of(m, got + behind) == (i < kCount ? 20u + kRoom - 1 - 2 * i : 0),
                      "what was got backwards is there, and nothing else");
      witness->expect(first_of(m, end + 1 + i) == (i % 2 == 0 ? 20u : 0),
                      "the one element is in each of its places");
    }
  }

 private:
  template <class M>
  static std::uint32_t first_of(M& m, const T* element) {
    return m.load_weak(reinterpret_cast<const std::uint32_t*>(element));
  }
};

// Larger than a word, and no power of two.
struct Triple {
  std::uint32_t words[3];
};

template <class T>
WorldPointer backwards(const char* name, const SubjectOptions& options, Reached reached) {
  using Kernel = Backwards<T>;
  auto world = world_of(name, options_for(options), reached);
  auto* source = world->allocate<T>("source", Kernel::kCount);
  auto* data = world->allocate<T>("data", Kernel::kRoom);
  auto* there = world->allocate<T>("there", Kernel::kRoom);
  auto* got = world->allocate<T>("got", 2 * Kernel::kRoom);
  for (int i = 0; i < Kernel::kRoom; ++i) {
    world->set(1, there + i, T{static_cast<std::uint32_t>(20 + i)});
  }
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   Kernel{world->witness(), source, data, there, got});
  world->check([=](After& after) {
    for (int i = 0; i < Kernel::kRoom; ++i) {
      const auto* first = reinterpret_cast<const std::uint32_t*>(data + i);
      after.expect_eq("place " + std::to_string(i), after.value(1, first),
                      i % 2 == 0 ? 0 : 7 + (Kernel::kRoom - 1 - i) / 2);
    }
  });
  return world;
}

WorldPointer backward_numbers(const SubjectOptions& options, Reached reached) {
  return backwards<std::uint32_t>("backward-numbers", options, reached);
}

WorldPointer backward_triples(const SubjectOptions& options, Reached reached) {
  return backwards<Triple>("backward-triples", options, reached);
}

// Three members have two numbers for each, which lie 2 apart there and 3 apart here.
struct CrossApart {
  static constexpr int kCount = 2;

  const Witness* witness;
  std::uint32_t* source;  // 3 * n * kCount
  std::uint32_t* dest;    // 2 * n * kCount
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.block().team(kTeamWorld);
    const int all = team.n_pes() * kCount;
    const auto from = [](int member, int to, int i) {
      return static_cast<std::uint32_t>(100 * (1 + member) + 10 * to + i);
    };
    for (int i = static_cast<int>(m.thread_index()); i < all; i += int(m.block_threads())) {
      m.store_weak(source + 3 * i, from(pe.my_pe(), i / kCount, i % kCount));
    }
    witness->expect(team.alltoalls(dest, source, 2, 3, kCount).ok(), "alltoalls succeeds");
    for (int i = 0; i < all; ++i) {
      witness->expect(m.load_weak(dest + 2 * i) == from(i / kCount, pe.my_pe(), i % kCount),
                      "each member's numbers are there");
      witness->expect(m.load_weak(dest + 2 * i + 1) == 0, "what lies between is as it was");
    }
  }
};

WorldPointer cross_apart(const SubjectOptions& options, Reached reached) {
  constexpr std::uint32_t kPes = 3;
  auto world = world_of("alltoalls-of-two",
                        options_for(options, kPes, CollectiveAlgorithm::automatic), reached);
  auto* source = world->allocate<std::uint32_t>("source", 3 * kPes * CrossApart::kCount);
  auto* dest = world->allocate<std::uint32_t>("dest", 2 * kPes * CrossApart::kCount);
  world->launch({.blocks = 1, .threads = 2}, CrossApart{world->witness(), source, dest});
  return world;
}

// What one type of word holds before, and what it is waited for to exceed.
template <class T>
struct Signs {
  T* words;  // `low`, which becomes `high`; `high`, which becomes `low`; both of them, which stay
  T low;
  T high;
  T between;
};

// PE 1 makes a word greater, and another one smaller, each behind data. PE 0 waits for both, and
// compares others with which nothing happens.
template <class T>
struct WaitsBySign {
  const Witness* witness;
  Signs<T> signs;
  Word* data;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    T* const words = signs.words;
    if (pe.my_pe() == 1) {
      for (int i = 0; i < 2; ++i) {
        witness->expect(pe.put_value(data + i, Word(7 + i), 0).ok(), "put_value is taken");
        witness->expect(pe.put_value(words + i, i == 0 ? signs.high : signs.low, 0).ok(),
                        "put_value is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(words, Compare::gt, signs.between).ok(), "wait_until succeeds");
    witness->expect(m.load_weak(data) == 7, "the data of the word that has grown is there");
    std::size_t index = 2;
    witness->expect(
        pe.wait_until_any(words + 1, 1, nullptr, Compare::lt, signs.between, &index).ok(),
        "wait_until_any succeeds");
    witness->expect(index == 0 && m.load_weak(data + 1) == 8,
                    "the data of the word that has shrunk is there");
    compare(pe);
  }

 private:
  template <class Pe>
  void compare(Pe& pe) const {
    const T* const stay = signs.words + 2;
    const T both[] = {signs.low, signs.high};
    witness->expect(pe.test(stay, Compare::lt, signs.between), "low is less");
    witness->expect(pe.test(stay, Compare::le, signs.between), "low is at most that");
    witness->expect(!pe.test(stay, Compare::ge, signs.between), "low is not at least that");
    witness->expect(pe.test(stay + 1, Compare::ge, signs.between), "high is at least that");
    witness->expect(!pe.test_all(stay, 2, nullptr, Compare::gt, signs.between),
                    "not both are greater");
    witness->expect(pe.test_any(stay, 2, nullptr, Compare::gt, signs.between) == 1,
                    "the second one is greater");
    witness->expect(pe.test_all_vector(stay, 2, nullptr, Compare::eq, both), "both are the same");
    witness->expect(pe.test_any_vector(stay, 2, nullptr, Compare::ne, both) == ~std::size_t{0},
                    "neither is another one");
  }
};

template <class T>
WorldPointer waits_by_sign(const char* name, const SubjectOptions& options, T low, T high,
                           T between) {
  auto world = std::make_unique<World>(name, options_for(options));
  auto* words = world->allocate<T>("words", 4, RegionKind::signal);
  auto* data = world->allocate<Word>("data", 2);
  world->set(0, words, low);
  world->set(0, words + 1, high);
  world->set(0, words + 2, low);
  world->set(0, words + 3, high);
  world->launch({.blocks = 1, .threads = 1},
                WaitsBySign<T>{world->witness(), {words, low, high, between}, data});
  return world;
}

WorldPointer negative_words(const SubjectOptions& options) {
  return waits_by_sign<std::int64_t>("negative-words", options, -1, 5, 0);
}

WorldPointer negative_numbers(const SubjectOptions& options) {
  return waits_by_sign<std::int32_t>("negative-numbers", options, -7, -2, -5);
}

WorldPointer negative_shorts(const SubjectOptions& options) {
  return waits_by_sign<std::int16_t>("negative-shorts", options, -1, 1, 0);
}

WorldPointer large_words(const SubjectOptions& options) {
  constexpr Word kTop = Word{1} << 63;
  return waits_by_sign<Word>("large-words", options, 1, kTop | 5, kTop);
}

WorldPointer negative_fractions(const SubjectOptions& options) {
  return waits_by_sign<double>("negative-fractions", options, -2.5, -0.5, -1.5);
}

constexpr ScenarioEntry kListed[] = {
    {"odd-elements", "Two lanes put and get odd numbers of elements.", make<odd_elements, kNic>},
    {"even-elements", "Three threads of a block put and get 2 and 4 elements.",
     make<even_elements, kNic>},
    {"direct-odd-elements", "Two lanes put and get odd numbers of a direct peer's elements.",
     make<odd_elements, kDirect>},
    {"dc-elements", "A thread puts and gets elements apart by a queue of DC.", make<dc_elements>},
    {"dc-warp-elements", "Two lanes put and get elements apart by a queue of DC.",
     make<dc_warp_elements>},
    {"backward-numbers", "A thread puts and gets numbers backwards, and one to many places.",
     make<backward_numbers, kNic>},
    {"direct-backward-numbers", "The same of a direct peer's numbers.",
     make<backward_numbers, kDirect>},
    {"backward-triples", "A thread puts and gets larger elements backwards.",
     make<backward_triples, kNic>},
    {"direct-backward-triples", "The same of a direct peer's elements.",
     make<backward_triples, kDirect>},
    {"alltoalls-of-two", "Two numbers for each of three PEs cross, apart on both sides.",
     make<cross_apart, kNic>},
    {"direct-alltoalls-of-two", "Two numbers for each of three direct peers cross.",
     make<cross_apart, kDirect>},
    {"negative-words", "A word of 8 bytes that is negative first is waited for.",
     make<negative_words>},
    {"negative-numbers", "A word of 4 bytes that stays negative is waited for.",
     make<negative_numbers>},
    {"negative-shorts", "A word of 2 bytes that is negative first is waited for.",
     make<negative_shorts>},
    {"large-words", "A word without a sign that passes the greatest signed one is waited for.",
     make<large_words>},
    {"negative-fractions", "A negative fraction is waited for.", make<negative_fractions>},
};

}  // namespace

constinit const Table kElementsTable = kListed;

}  // namespace gdakit::sim::scenarios
