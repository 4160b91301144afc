#include "sim/world/scenarios/talk_program.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/explore/generator.h"
#include "sim/world/scenarios/talk_meeting.h"
#include "sim/world/scenarios/talk_mover.h"

namespace gdakit::sim::scenarios {
namespace {

constexpr Odds kMeets = Odds::of(1, 8);
constexpr std::uint32_t kMostTold = 3;   // by one player to another one
constexpr std::uint32_t kMostStep = 20;  // from one value of a word to the next one

bool has_group_form(TalkAct act) { return act == TalkAct::put || act == TalkAct::get; }

bool is_signal(Telling telling) {
  return telling == Telling::put_signal || telling == Telling::signal;
}

bool asks_several(Hearing hearing) {
  constexpr Hearing kOfOne[] = {Hearing::wait_until, Hearing::signal_wait_until,
                                Hearing::signal_fetch, Hearing::test};
  return std::find(std::begin(kOfOne), std::end(kOfOne), hearing) == std::end(kOfOne);
}

bool has_values(Hearing hearing) {
  constexpr Hearing kVectors[] = {Hearing::wait_until_all_vector,  Hearing::wait_until_any_vector,
                                  Hearing::wait_until_some_vector, Hearing::test_all_vector,
                                  Hearing::test_any_vector,        Hearing::test_some_vector};
  return std::find(std::begin(kVectors), std::end(kVectors), hearing) != std::end(kVectors);
}

// What a word of 8 or 4 bytes holds after an atomic.
std::uint64_t changed(const TalkStep& step, std::uint64_t word) {
  const auto result = [&] {
    switch (step.change) {
      case Change::add: return word + step.value;
      case Change::inc: return word + 1;
      case Change::set: return step.value;
      case Change::bit_and: return word & step.value;
      case Change::bit_or: return word | step.value;
      case Change::bit_xor: return word ^ step.value;
      case Change::compare_swap: return word == step.compared ? step.value : word;
      case Change::fetch: break;
    }
    return word;
  }();
  return step.narrow ? result & 0xffffffffu : result;
}

// What one player has told another one so far.
struct Pair {
  std::vector<Told> told;
  std::uint64_t value = 0;
  Telling telling = Telling::signal;
  Element element = Element::eight;  // of put_value
  TalkWay way = TalkWay::first;
  bool open = false;  // the last word may be on its way
};

// What has become of the messages of a PE's players to one player.
struct Post {
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
};

// What all players know of a talk as far as it is drawn.
struct Table {
  Table(const TalkShape& shape_of_it, Generator& numbers) : shape(shape_of_it), random(numbers) {
    const std::uint32_t all = shape.all();
    talk.steps.resize(all);
    talk.letters.assign(all, std::vector<std::vector<Letter>>(shape.pes));
    talk.memory.resize(shape.pes);
    for (TalkMemory& of_pe : talk.memory) {
      of_pe.inbox.assign(all * kRowBytes, 0);
      of_pe.words.assign(shape.players * all, 0);
      of_pe.counters.assign((all + 1) * 2, 0);
      of_pe.guarded.assign(kTalkLocks, 0);
    }
    pairs.assign(all, std::vector<Pair>(all));
    posts.assign(all, std::vector<Post>(shape.pes));
  }

  const TalkShape& shape;
  Generator& random;
  Talk talk;
  std::vector<std::vector<Pair>> pairs;  // [who hears][who tells]
  std::vector<std::vector<Post>> posts;  // [who receives][PE that sends]
};
// One player of the job, whose steps are drawn one by one.
class Talker : public TalkMover {
 public:
  Talker(Table& table, std::uint32_t me)
      : TalkMover(table.shape, table.random, table.talk.memory, me),
        table_(table),
        takes_any_(random_.chance(Odds::of(1, 2))),
        counters_(shape_.pes) {}

  void draw() {
    TalkStep step;
    step.act = static_cast<TalkAct>(random_.below(kTalkActs));
    step.way = draw_way(step.act);
    step.pe = random_.below(shape_.pes);
    step.more = random_.chance(Odds::of(1, 4));
    step.scribe = has_group_form(step.act) && !is_on_channel(step) ? random_.below(2) : 0;
    step.value = random_.next() >> 8;
    if (draw(step)) table_.talk.steps[me_].push_back(std::move(step));
  }

  // To a meeting, before which all that went by the queues is completed.
  void come(TalkStep step) {
    quiet(step);
    step.brought = words_brought(step, shape_.pes, number(), me_ / shape_.players);
    table_.talk.steps[me_].push_back(std::move(step));
  }
  // What all know then of this player's row at a PE. They have looked at it when it moves again.
  Told known_after_meeting(std::uint32_t pe) const {
    Told known;
    for (std::uint32_t i = 0; i < kRowBytes; ++i) {
      const Byte& byte = row_[pe][i];
      if (!byte.is_there || byte.moves || is_hidden(byte)) continue;
      known.row.emplace_back(i, memory_[pe].inbox[me_ * kRowBytes + i]);
    }
    return known;
  }

  // All that was sent is received in the end, and all that was posted completed.
  void finish() {
    TalkStep step;
    while (draw_receive(step)) table_.talk.steps[me_].push_back(step);
    add_quiet(TalkWay::channel);
    add_quiet(TalkWay::first);
  }

 private:
  struct Counter {
    std::optional<TalkWay> ways[2];  // by which what moves has gone: of the wide word, the narrow
  };
  TalkWay draw_way(TalkAct act) {
    if (act == TalkAct::send || act == TalkAct::receive) return TalkWay::channel;
    const bool may_own = number() == 0 && (shape_.alone || has_group_form(act));
    const bool by_channel = act == TalkAct::put || act == TalkAct::quiet;
    if (by_channel && random_.chance(Odds::of(1, 4))) return TalkWay::channel;
    return static_cast<TalkWay>(random_.below(may_own ? 3 : 2));
  }
  bool draw(TalkStep& step) {
    switch (step.act) {
      case TalkAct::put: draw_ending(step); return draw_put(step);
      case TalkAct::put_value: return draw_put_value(step);
      case TalkAct::get: draw_ending(step); return draw_get(step);
      case TalkAct::get_value: return draw_get_value(step);
      case TalkAct::tell: return draw_tell(step);
      case TalkAct::hear: return draw_hear(step);
      case TalkAct::send: return draw_send(step);
      case TalkAct::receive: return draw_receive(step);
      case TalkAct::change: return draw_change(step, kPlainChanges);
      case TalkAct::fetch: return draw_fetch(step);
      case TalkAct::count: return draw_count(step);
      case TalkAct::lock: return draw_lock(step);
      case TalkAct::fence: fence(step.way); return true;
      case TalkAct::quiet: quiet(step); return true;
      case TalkAct::await: return draw_await(step);
      case TalkAct::meet: break;
    }
    return false;
  }

  // Of channels apart from the queues.
  void quiet(TalkStep& step) {
    complete(step);
    if (is_on_channel(step)) return;
    counters_.assign(shape_.pes, {});
    for (auto& of_hearer : table_.pairs) of_hearer[me_].open = false;
  }
  void add_quiet(TalkWay way) {
    TalkStep step;
    step.way = way;
    quiet(step);
    table_.talk.steps[me_].push_back(std::move(step));
  }

  // ---- Telling and hearing.

  bool draw_tell(TalkStep& step) {
    step.player = random_.below(shape_.players);
    step.more = false;  // who hears of it would wait for the doorbell
    Pair& pair = table_.pairs[step.pe * shape_.players + step.player][me_];
    step.telling = static_cast<Telling>(random_.below(kTellings));
    step.element = static_cast<Element>(random_.below(4));
    if (!pair.told.empty()) {
      if (is_signal(step.telling) != is_signal(pair.telling)) return false;
      if (!is_signal(step.telling)) step.telling = pair.telling;
      step.element = pair.element;
    }
    if (pair.told.size() == kMostTold || !may_follow(step, pair)) return false;
    const Element element = step.element;
    step.ending = static_cast<Ending>(random_.below(3));
    if (step.telling == Telling::put_signal && !draw_put(step)) return false;
    Told told;
    told.row = row_told(step);
    add_word(step, pair, element);
    told.value = pair.value;
    pair.told.push_back(std::move(told));
    return true;
  }

  // Whether the word comes behind what it was told before.
  bool may_follow(const TalkStep& step, const Pair& pair) const {
    if (!pair.open) return true;
    if (pair.way != step.way || !shape_.alone) return false;
    return is_signal(step.telling) || keeps_order(step.way);
  }

  void add_word(TalkStep& step, Pair& pair, Element element) {
    const std::uint64_t more = 1 + random_.below(kMostStep);
    step.adds = is_signal(step.telling) && random_.chance(Odds::of(1, 2));
    step.element = step.telling == Telling::put_signal ? step.element : element;
    pair.element = step.telling == Telling::put_value ? element : Element::eight;
    pair.value += more;
    pair.telling = step.telling;
    pair.way = step.way;
    pair.open = true;
    step.value = step.adds || step.telling == Telling::add ? more : pair.value;
    memory_[step.pe].words[step.player * shape_.all() + me_] = pair.value;
  }

  // What is there behind the word that tells, of this player's row. It stays so.
  Expected row_told(const TalkStep& step) {
    Expected told;
    const std::uint32_t from = random_.chance(Odds::of(1, 2)) ? random_.below(kRowBytes) : 0;
    std::vector<bool> carried(kRowBytes, false);
    if (step.telling == Telling::put_signal || step.act == TalkAct::send) {
      all_bytes(step, [&](std::uint32_t remote, std::uint32_t) { return carried[remote] = true; });
    }
    for (std::uint32_t i = 0; i < kRowBytes; ++i) {
      Byte& byte = row_[step.pe][i];
      if (!byte.is_there || (!carried[i] && (i < from || !is_before(step, byte)))) continue;
      if (step.act == TalkAct::tell && is_hidden(byte)) continue;
      byte.told = true;
      told.emplace_back(i, memory_[step.pe].inbox[me_ * kRowBytes + i]);
    }
    return told;
  }

  // Who is told directly need not see what came by a channel (docs/direct-peers.md).
  bool is_hidden(const Byte& byte) const { return shape_.directly && byte.way == TalkWay::channel; }
  bool is_before(const TalkStep& step, const Byte& byte) const {
    if (!byte.moves) return true;
    if (byte.way != step.way) return false;
    if (byte.fenced || step.act == TalkAct::send) return true;
    if (!shape_.alone) return false;
    if (is_signal(step.telling)) return true;
    if (step.telling == Telling::put_value) return keeps_order(step.way);
    return !shape_.direct && !shape_.word_queues;
  }

  bool draw_hear(TalkStep& step) {
    std::vector<std::uint32_t> tellers;
    step.hearing = static_cast<Hearing>(random_.below(kHearings));
    const bool several = asks_several(step.hearing);
    const std::vector<Pair>& pairs = table_.pairs[me_];
    const bool wide = several || step.hearing == Hearing::signal_wait_until ||
                      step.hearing == Hearing::signal_fetch;
    for (std::uint32_t i = 0; i < shape_.all(); ++i) {
      if (pairs[i].told.empty() || (wide && pairs[i].element != Element::eight)) continue;
      tellers.push_back(i);
    }
    if (tellers.empty()) return false;
    const std::uint32_t first = tellers[random_.below(static_cast<std::uint32_t>(tellers.size()))];
    step.above = random_.chance(Odds::of(1, 2));
    step.element = pairs[first].element;
    step.told.emplace_back(first, one_of(pairs[first].told));
    step.value = step.told[0].second.value;
    for (const std::uint32_t other : tellers) {
      if (!several || other == first || random_.chance(Odds::of(1, 2))) continue;
      if (has_values(step.hearing)) {
        step.told.emplace_back(other, one_of(pairs[other].told));
      } else if (pairs[other].value >= step.value) {
        step.told.emplace_back(other, known_at(pairs[other], step.value));
      }
    }
    return true;
  }
  const Told& one_of(const std::vector<Told>& told) {
    return told[random_.below(static_cast<std::uint32_t>(told.size()))];
  }
  // What is told by a word that has reached this value.
  static Told known_at(const Pair& pair, std::uint64_t value) {
    Told known;
    for (const Told& told : pair.told) {
      if (told.value <= value) known = told;
    }
    known.value = value;
    return known;
  }

  // ---- Messages.

  bool draw_send(TalkStep& step) {
    const std::uint32_t to = step.pe * shape_.players + number();
    std::vector<Letter>& letters = table_.talk.letters[to][me_ / shape_.players];
    if (letters.size() == kLetters) return false;
    step.player = number();
    step.is_put = random_.chance(Odds::of(1, 2));
    step.ending = static_cast<Ending>(random_.below(3));
    step.more = false;  // who receives it would wait for the doorbell
    Letter letter;
    letter.is_put = step.is_put;
    if (step.is_put) {
      if (!draw_put(step)) return false;
      letter.immediate = static_cast<std::uint32_t>(step.value);
      letter.length = step.count * size_of(step.element);
      letter.bytes = row_told(step);
    } else {
      draw_text(step, letter);
    }
    letters.push_back(std::move(letter));
    ++table_.posts[to][me_ / shape_.players].sent;
    return true;
  }

  void draw_text(TalkStep& step, Letter& letter) {
    draw_form(step);
    draw_source(step);
    const std::uint32_t size = size_of(step.element);
    step.count = random_.below(kLetterBytes / size + 1);
    step.local = draw_line(step, kDraftBytes, true).first;
    step.local_stride = 1;
    letter.length = step.count * size;
    for (std::uint32_t i = 0; i < letter.length; ++i) {
      letter.bytes.emplace_back(i, source_byte(step, step.local + i));
    }
    if (step.source != Source::own && step.ending != Ending::blocking) {
      drafts_[index_of(step.source)] = step.way;
    }
    if (step.ending == Ending::async) add_ticket(step);
  }

  bool draw_receive(TalkStep& step) {
    step = {};
    step.act = TalkAct::receive;
    step.way = TalkWay::channel;
    step.of_any = takes_any_;
    step.by_test = random_.chance(Odds::of(1, 2));
    std::vector<std::uint32_t> from;
    for (std::uint32_t pe = 0; pe < shape_.pes; ++pe) {
      const Post& post = table_.posts[me_][pe];
      if (post.received < post.sent) from.push_back(pe);
    }
    if (from.empty()) return false;
    step.pe = from[random_.below(static_cast<std::uint32_t>(from.size()))];
    ++table_.posts[me_][step.pe].received;
    return true;
  }

  // ---- Atomics and locks.

  bool draw_change(TalkStep& step, std::uint32_t changes) {
    step.narrow = random_.chance(Odds::of(1, 2));
    step.change = static_cast<Change>(random_.below(changes));
    std::optional<TalkWay>& way = counters_[step.pe].ways[step.narrow ? 1 : 0];
    if (way && *way != step.way) return false;
    way = step.way;
    std::uint64_t& word = memory_[step.pe].counters[me_ * 2 + (step.narrow ? 1 : 0)];
    if (step.narrow) step.value &= 0xffffffffu;
    step.compared = random_.chance(Odds::of(1, 2)) ? word : step.value + 1;
    if (step.narrow) step.compared &= 0xffffffffu;
    step.wanted = word;
    word = changed(step, word);
    return true;
  }

  // Brings the old value at once, or to `got`.
  bool draw_fetch(TalkStep& step) {
    step.ending = random_.chance(Odds::of(1, 3)) ? Ending::nbi : Ending::blocking;
    if (step.ending == Ending::blocking) step.more = false;
    const std::uint32_t at = random_.below(kRowBytes / 8) * 8;
    for (std::uint32_t i = 0; i < 8; ++i) {
      if (step.ending == Ending::nbi && comes_[at + i]) return false;
    }
    if (!draw_change(step, kFetchChanges)) return false;
    if (step.ending == Ending::blocking) return true;
    step.local = at;
    for (std::uint32_t i = 0; i < (step.narrow ? 4u : 8u); ++i) {
      step.got.emplace_back(at + i, static_cast<std::uint8_t>(step.wanted >> 8 * i));
    }
    expect_later(step);
    return true;
  }

  bool draw_count(TalkStep& step) {
    step.narrow = random_.chance(Odds::of(1, 2));
    std::uint64_t& word = memory_[step.pe].counters[shape_.all() * 2 + (step.narrow ? 1 : 0)];
    word += step.value;
    if (step.narrow) word &= 0xffffffffu;
    return true;
  }

  bool draw_lock(TalkStep& step) {
    step.lock = random_.below(kTalkLocks);
    if (shape_.partly) step.pe = shape_.pes - 1;
    step.by_test = random_.chance(Odds::of(1, 4));
    memory_[step.pe].guarded[step.lock] += step.value;
    return true;
  }
  Table& table_;
  const bool takes_any_;           // receives are of any PE
  std::vector<Counter> counters_;  // [pe]
};

// All PEs' players of one number, at this point of their steps.
void draw_meeting(Table& table, std::vector<Talker>& talkers) {
  const TalkShape& shape = table.shape;
  Generator& random = table.random;
  const std::uint32_t number = random.below(shape.players);
  TalkStep step;
  step.act = TalkAct::meet;
  step.meeting = static_cast<TalkMeeting>(random.below(kTalkMeetings));
  step.root = random.below(shape.pes);
  step.count = random.below(kMetWords + 1);
  step.local = 8 * random.below(kRowBytes / 8 - words_read(step, shape.pes) + 1);
  const auto player = [&](std::uint32_t pe) { return pe * shape.players + number; };
  for (std::uint32_t pe = 0; pe < shape.pes; ++pe) talkers[player(pe)].come(step);
  for (std::uint32_t pe = 0; pe < shape.pes; ++pe) {
    TalkStep& of_pe = table.talk.steps[player(pe)].back();
    for (std::uint32_t from = 0; from < shape.pes; ++from) {
      of_pe.told.emplace_back(player(from), talkers[player(from)].known_after_meeting(pe));
    }
  }
}

}  // namespace

std::uint32_t size_of(Element element) {
  constexpr std::uint32_t kSizes[] = {1, 2, 4, 8, 3, 16};
  return kSizes[static_cast<std::size_t>(element)];
}
std::uint32_t alignment_of(Element element) {
  constexpr std::uint32_t kAlignments[] = {1, 2, 4, 8, 1, 8};
  return kAlignments[static_cast<std::size_t>(element)];
}

std::uint8_t own_byte(std::uint32_t pe, std::uint32_t at) {
  return static_cast<std::uint8_t>(0x40 * (pe + 1) + at + 1);
}

Talk draw_talk(const TalkShape& shape, std::uint64_t number) {
  Generator random(1, number);
  Table table(shape, random);
  std::vector<Talker> talkers;
  talkers.reserve(shape.all());
  for (std::uint32_t i = 0; i < shape.all(); ++i) talkers.emplace_back(table, i);
  std::uint32_t meetings = shape.meetings;
  for (std::uint32_t i = 0; i < shape.all() * shape.steps; ++i) {
    if (meetings != 0 && random.chance(kMeets)) {
      draw_meeting(table, talkers);
      --meetings;
    }
    talkers[random.below(shape.all())].draw();
  }
  for (Talker& talker : talkers) talker.finish();
  return std::move(table.talk);
}

}  // namespace gdakit::sim::scenarios
