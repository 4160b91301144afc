#include "sim/world/scenarios/drawn_program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/explore/generator.h"

namespace gdakit::sim::scenarios {
namespace {

constexpr std::uint32_t kMostSteps = 5;

// The PE that refuses everything, where one does.
constexpr std::uint32_t kRefusing = 1;

bool is_fetch(Act act) {
  return act == Act::fetch_add || act == Act::swap || act == Act::compare_swap;
}

// Whether the call returns when the operation is complete.
bool waits(Act act) {
  constexpr Act kThatWait[] = {Act::put, Act::put_async, Act::put_signal,
                               Act::get, Act::get_value, Act::iget};
  return is_fetch(act) ||
         std::find(std::begin(kThatWait), std::end(kThatWait), act) != std::end(kThatWait);
}

// What one PE does in a round, drawn step by step. `memory` is what lies where as far as the steps
// have come: of all PEs.
class StepDrawer {
 public:
  StepDrawer(const DrawnShape& shape, Generator& random, std::vector<Memory>& memory,
             std::uint32_t me)
      : shape_(shape), random_(random), memory_(memory), me_(me) {
    forget();
  }

  std::vector<Step> draw() {
    std::vector<Step> steps;
    const std::uint32_t count = 1 + random_.below(kMostSteps);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (const std::optional<Step> step = draw_step()) steps.push_back(*step);
    }
    return steps;
  }
  Answer quiet() const { return breaks_.empty() ? Answer::ok : Answer::error; }

 private:
  // What has been done to a word elsewhere that nothing has completed since.
  struct Pending {
    bool is = false;  // written
    bool fenced = false;
    Way way = Way::first;
    bool is_read = false;  // by a get_nbi, which no later put is ordered behind
  };

  // All is complete.
  void forget() {
    inbox_.assign(shape_.pes() * kDrawnWords, {});
    counters_.assign(shape_.pes(), {});
    signals_.assign(shape_.pes(), {});
    comes_.assign(kDrawnWords, false);
  }

  std::vector<DrawnWord>& words(std::uint32_t pe, Place place) {
    return memory_[pe][static_cast<std::size_t>(place)];
  }
  Pending& inbox(std::uint32_t pe, std::uint32_t word) {
    return inbox_[pe * kDrawnWords + word - me_ * kDrawnWords];
  }
  DrawnWord value() { return random_.next() >> 8; }

  std::uint32_t draw_count(bool strided) {
    const std::uint32_t least = shape_.breaks ? 1 : 0;  // nothing breaks no queue
    return least + random_.below(kDrawnWords / (strided ? 2 : 1) + 1 - least);
  }

  Way draw_way(Act act) {
    constexpr Act kOfGroups[] = {Act::put,        Act::put_nbi, Act::put_async, Act::iput,
                                 Act::put_signal, Act::get,     Act::get_nbi,   Act::iget};
    const bool may_own = shape_.alone || std::find(std::begin(kOfGroups), std::end(kOfGroups),
                                                   act) != std::end(kOfGroups);
    return static_cast<Way>(random_.below(may_own ? 3 : 2));
  }

  // `count` words of an array that begins at word `begin` of its place.
  Side draw_side(Place place, std::uint32_t begin, std::uint32_t count, bool strided,
                 bool is_source) {
    constexpr std::int32_t kStrides[] = {1, 2, -1, -2, 0};
    std::int32_t stride = 1;
    if (strided) stride = kStrides[random_.below(is_source ? 5 : 4)];
    const auto reach = static_cast<std::uint32_t>(stride < 0 ? -stride : stride) * (count - 1);
    if (reach >= kDrawnWords) stride = 1;
    const std::uint32_t extent = reach >= kDrawnWords ? count - 1 : reach;
    const std::uint32_t at = random_.below(kDrawnWords - extent);
    return {place, begin + at + (stride < 0 ? extent : 0), stride};
  }

  std::optional<Step> draw_step() {
    Step step;
    step.act = static_cast<Act>(random_.below(shape_.refusals == 0 ? kActs - 1 : kActs));
    step.way = draw_way(step.act);
    step.pe = random_.below(shape_.pes());
    step.more = random_.chance(Odds::of(1, 4));
    step.value = value();
    bool fits = true;
    if (step.act <= Act::put_signal) {
      fits = draw_put(step);
    } else if (step.act <= Act::iget) {
      fits = draw_get(step);
    } else if (step.act == Act::signal) {
      fits = draw_signal(step);
    } else if (step.act <= Act::add_for_all) {
      fits = draw_atomic(step);
    } else if (step.act == Act::fence) {
      for (Pending& word : inbox_) word.fenced |= word.way == step.way;
    } else if (step.act == Act::quiet) {
      forget();
    } else {
      step.number = random_.below(shape_.refusals);
    }
    if (!fits) return std::nullopt;
    if (shape_.breaks) step.answer = answer_to(step);
    return step;
  }

  bool is_refused(const Step& step) const { return shape_.breaks && step.pe == kRefusing; }

  // Among PEs of which one refuses everything.
  Answer answer_to(const Step& step) {
    if (step.act == Act::quiet) {
      for (auto& [way, is_known] : breaks_) is_known = true;
      return quiet();
    }
    if (step.act == Act::fence) return breaks_.empty() ? Answer::ok : Answer::either;
    if (!is_refused(step)) return Answer::ok;
    bool& is_known = breaks_[step.way];
    if (waits(step.act)) is_known = true;
    const bool may_be_late = step.way == Way::exclusive && step.more;
    return is_known && !may_be_late ? Answer::error : Answer::either;
  }

  bool draw_put(Step& step) {
    const bool strided = step.act == Act::iput;
    step.count = step.act == Act::put_value ? 1 : draw_count(strided);
    const std::uint32_t some = std::max(step.count, 1u);
    step.remote = draw_side(Place::inbox, me_ * kDrawnWords, some, strided, false);
    step.local = draw_side(Place::own, 0, some, strided, true);
    step.aside =
        !strided && step.local.word(some - 1) < kAsideWords && random_.chance(Odds::of(1, 4));
    for (std::uint32_t i = 0; i < step.count; ++i) {
      const Pending& word = inbox(step.pe, step.remote.word(i));
      const bool follows =
          word.way == step.way && (word.fenced || (shape_.ordered && shape_.alone));
      if (word.is_read || (word.is && !follows)) return false;
    }
    if (step.act == Act::put_signal && !draw_signal(step)) return false;
    if (is_refused(step)) return true;
    for (std::uint32_t i = 0; i < step.count; ++i) {
      inbox(step.pe, step.remote.word(i)) = {.is = true, .way = step.way};
      const bool by_value = step.act == Act::put_value;
      words(step.pe, Place::inbox)[step.remote.word(i)] =
          by_value ? step.value : words(me_, Place::own)[step.local.word(i)];
    }
    return true;
  }

  bool draw_get(Step& step) {
    const bool strided = step.act == Act::iget;
    const bool one = step.act == Act::get_value;
    step.count = one ? 1 : draw_count(strided);
    const std::uint32_t some = std::max(step.count, 1u);
    const bool of_inbox = random_.chance(Odds::of(1, 2));
    step.remote = draw_side(of_inbox ? Place::inbox : Place::own, of_inbox ? me_ * kDrawnWords : 0,
                            some, strided, true);
    step.local = draw_side(Place::got, 0, some, strided, false);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      if (!one && comes_[step.local.word(i)]) return false;
      if (!of_inbox) continue;
      const Pending& word = inbox(step.pe, step.remote.word(i));
      const bool follows = word.way == step.way && shape_.ordered && shape_.alone;
      if (word.is && !follows) return false;
    }
    if (is_refused(step)) return true;
    if (one) step.wanted = words(step.pe, step.remote.place)[step.remote.first];
    for (std::uint32_t i = 0; i < step.count && !one; ++i) {
      words(me_, Place::got)[step.local.word(i)] =
          words(step.pe, step.remote.place)[step.remote.word(i)];
      comes_[step.local.word(i)] = step.act == Act::get_nbi;
      if (of_inbox && step.act == Act::get_nbi) inbox(step.pe, step.remote.word(i)).is_read = true;
    }
    return true;
  }

  bool draw_signal(Step& step) {
    Pending& word = signals_[step.pe];
    if (word.is && word.way != step.way) return false;
    word = {.is = true, .way = step.way};
    step.adds = random_.chance(Odds::of(1, 2));
    if (is_refused(step)) return true;
    DrawnWord& at = words(step.pe, Place::signals)[me_];
    at = step.adds ? at + step.value : step.value;
    return true;
  }

  bool draw_atomic(Step& step) {
    if (is_refused(step)) return true;
    if (step.act == Act::add_for_all) {
      words(step.pe, Place::counters)[shape_.pes()] += step.value;
      return true;
    }
    Pending& word = counters_[step.pe];
    if (word.is && word.way != step.way) return false;
    word = {.is = true, .way = step.way};
    DrawnWord& at = words(step.pe, Place::counters)[me_];
    step.compared = random_.chance(Odds::of(1, 2)) ? at : value();
    if (is_fetch(step.act)) step.wanted = at;
    if (step.act == Act::add || step.act == Act::fetch_add) {
      at += step.value;
    } else if (step.act != Act::compare_swap || step.compared == at) {
      at = step.value;
    }
    return true;
  }

  const DrawnShape& shape_;
  Generator& random_;
  std::vector<Memory>& memory_;
  const std::uint32_t me_;
  std::vector<Pending> inbox_;     // [pe][word of my block]
  std::vector<Pending> counters_;  // [pe]
  std::vector<Pending> signals_;   // [pe]
  std::vector<bool> comes_;        // words of `got` that are still to come
  // By which ways the PE has asked something of the one that refuses, and whether it must know.
  std::map<Way, bool> breaks_;
};

bool may_be_in_place(Gathering what) {
  return what != Gathering::collect && what != Gathering::alltoall && what != Gathering::alltoalls;
}

Collective draw_collective(const DrawnShape& shape, Generator& random) {
  Collective drawn;
  drawn.what = static_cast<Gathering>(random.below(kGatherings));
  drawn.team =
      static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(shape.teams.size())));
  const auto members =
      static_cast<std::uint32_t>(shape.teams[static_cast<std::size_t>(drawn.team)].size());
  drawn.root = static_cast<int>(random.below(members));
  drawn.stride = 1 + static_cast<std::int32_t>(random.below(2));
  drawn.in_place = random.chance(Odds::of(1, 4)) && may_be_in_place(drawn.what);
  drawn.refused = random.below(shape.refused_collectives + 1);
  const bool whole = drawn.what == Gathering::broadcast || drawn.what == Gathering::reduce;
  std::uint32_t most = whole ? kDrawnWords : kDrawnWords / members;
  if (drawn.what == Gathering::alltoalls && drawn.stride == 2) most /= 2;
  const std::uint32_t count = random.below(most + 1);
  for (std::uint32_t i = 0; i < members; ++i) {
    drawn.counts.push_back(drawn.what == Gathering::collect ? random.below(most + 1) : count);
  }
  return drawn;
}

// The words of a collective's members before it, and what it makes of them.
class Gatherer {
 public:
  Gatherer(const DrawnShape& shape, const Collective& what, std::vector<Memory>& memory)
      : what_(what), members_(shape.teams[static_cast<std::size_t>(what.team)]), memory_(memory) {
    for (std::uint32_t i = 0; i < size(); ++i) sources_.push_back(source_of(i));
  }

  void gather() {
    for (std::uint32_t i = 0; i < size(); ++i) gather_at(i);
  }

 private:
  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  std::vector<DrawnWord>& words(std::uint32_t member, Place place) {
    return memory_[static_cast<std::size_t>(members_[member])][static_cast<std::size_t>(place)];
  }
  std::vector<DrawnWord> source_of(std::uint32_t member) {
    if (!what_.in_place) return words(member, Place::own);
    const std::vector<DrawnWord>& dest = words(member, Place::gathered);
    const std::uint32_t from = what_.what == Gathering::fcollect ? member * what_.counts[0] : 0;
    return {dest.begin() + from, dest.end()};
  }
  DrawnWord sum(std::uint32_t word) const {
    DrawnWord all = 0;
    for (const std::vector<DrawnWord>& source : sources_) all += source[word];
    return all;
  }

  void gather_at(std::uint32_t member) {
    std::vector<DrawnWord>& dest = words(member, Place::gathered);
    const std::uint32_t count = what_.counts[0];
    const auto stride = static_cast<std::uint32_t>(what_.stride);
    std::uint32_t next = 0;
    switch (what_.what) {
      case Gathering::none: break;
      case Gathering::broadcast:
        for (std::uint32_t i = 0; i < count; ++i) {
          dest[i] = sources_[static_cast<std::size_t>(what_.root)][i];
        }
        break;
      case Gathering::fcollect:
      case Gathering::collect:
        for (std::uint32_t from = 0; from < size(); ++from) {
          for (std::uint32_t i = 0; i < what_.counts[from]; ++i) dest[next++] = sources_[from][i];
        }
        break;
      case Gathering::alltoall:
      case Gathering::alltoalls: {
        const std::uint32_t step = what_.what == Gathering::alltoall ? 1 : stride;
        for (std::uint32_t from = 0; from < size(); ++from) {
          for (std::uint32_t i = 0; i < count; ++i) {
            dest[(from * count + i) * step] = sources_[from][(member * count + i) * step];
          }
        }
        break;
      }
      case Gathering::reduce:
        for (std::uint32_t i = 0; i < count; ++i) dest[i] = sum(i);
        break;
      case Gathering::reduce_scatter:
        for (std::uint32_t i = 0; i < count; ++i) dest[i] = sum(member * count + i);
        break;
    }
  }

  const Collective& what_;
  const std::vector<std::int32_t>& members_;
  std::vector<Memory>& memory_;
  std::vector<std::vector<DrawnWord>> sources_;  // [member]
};

void offer(std::uint32_t round, std::vector<Memory>& memory) {
  for (std::uint32_t pe = 0; pe < memory.size(); ++pe) {
    std::vector<DrawnWord>& own = memory[pe][static_cast<std::size_t>(Place::own)];
    for (std::uint32_t i = 0; i < own.size(); ++i) own[i] = own_word(round, pe, i);
    std::vector<DrawnWord>& gathered = memory[pe][static_cast<std::size_t>(Place::gathered)];
    for (std::uint32_t i = 0; i < gathered.size(); ++i) gathered[i] = word_before(round, pe, i);
  }
}

}  // namespace

std::uint32_t words_of(Place place, std::uint32_t pes) {
  switch (place) {
    case Place::own:
    case Place::got: return kDrawnWords;
    case Place::inbox:
    case Place::gathered: return kDrawnWords * pes;
    case Place::counters: return pes + 1;
    case Place::signals: return pes;
  }
  return 0;
}

DrawnWord own_word(std::uint32_t round, std::uint32_t pe, std::uint32_t index) {
  return 0x1000 * (round + 1) + 0x100 * pe + index + 1;
}

DrawnWord word_before(std::uint32_t round, std::uint32_t pe, std::uint32_t index) {
  return 0x10000 + own_word(round, pe, index);
}

std::vector<Round> draw_program(const DrawnShape& shape, std::uint64_t number) {
  Generator random(0, number);
  std::vector<Memory> memory(shape.pes(), Memory(kDrawnPlaces));
  for (Memory& of_pe : memory) {
    for (std::size_t i = 0; i < kDrawnPlaces; ++i) {
      of_pe[i].assign(words_of(static_cast<Place>(i), shape.pes()), 0);
    }
  }
  std::vector<Round> rounds;
  for (std::uint32_t i = 0; i < shape.rounds; ++i) {
    Round& round = rounds.emplace_back();
    offer(i, memory);
    for (std::uint32_t pe = 0; pe < (shape.breaks ? 1 : shape.pes()); ++pe) {
      StepDrawer drawer(shape, random, memory, pe);
      round.steps.push_back(drawer.draw());
      if (pe == 0) round.quiet = drawer.quiet();
    }
    round.meeting = static_cast<Meeting>(random.below(kMeetings));
    if (!shape.breaks) {
      round.collective = draw_collective(shape, random);
      Gatherer(shape, round.collective, memory).gather();
    }
    round.after = memory;
  }
  return rounds;
}

}  // namespace gdakit::sim::scenarios
