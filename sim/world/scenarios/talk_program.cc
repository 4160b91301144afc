#include "sim/world/scenarios/talk_program.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/explore/generator.h"

namespace gdakit::sim::scenarios {
namespace {

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
class Talker {
 public:
  Talker(Table& table, std::uint32_t me)
      : table_(table),
        random_(table.random),
        shape_(table.shape),
        me_(me),
        takes_any_(random_.chance(Odds::of(1, 2))),
        row_(shape_.pes, std::vector<Byte>(kRowBytes)),
        counters_(shape_.pes),
        comes_(kRowBytes, false) {}

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

  // All that was sent is received in the end, and all that was posted completed.
  void finish() {
    TalkStep step;
    while (draw_receive(step)) table_.talk.steps[me_].push_back(step);
    add_quiet(TalkWay::channel);
    add_quiet(TalkWay::first);
  }

 private:
  // What has been done to a byte of this player's row at some PE.
  struct Byte {
    bool is_there = false;  // something was ever written
    bool moves = false;     // that may not be complete
    bool fenced = false;
    bool told = false;     // of it
    bool is_read = false;  // by a get that may not be complete
    TalkWay way = TalkWay::first;
  };
  struct Counter {
    std::optional<TalkWay> ways[2];  // by which what moves has gone: of the wide word, the narrow
  };
  struct Pending {
    TalkStep step;  // which made it
    bool is_open = true;
  };

  static bool is_on_channel(const TalkStep& step) { return step.way == TalkWay::channel; }
  std::uint32_t number() const { return me_ % shape_.players; }

  // Whether what one queue has posted takes effect in that order.
  bool keeps_order(TalkWay way) const {
    if (way == TalkWay::channel) return !shape_.placed;
    return shape_.alone && !shape_.placed && !shape_.direct;
  }

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
      case TalkAct::quiet: complete(step); return true;
      case TalkAct::await: return draw_await(step);
    }
    return false;
  }

  void draw_ending(TalkStep& step) {
    step.ending = static_cast<Ending>(random_.below(3));
    if (step.ending == Ending::blocking && is_on_channel(step)) step.ending = Ending::nbi;
    if (step.ending == Ending::blocking) step.more = false;
  }

  // ---- Which bytes move.

  struct Line {
    std::uint32_t first;
    std::int32_t stride;
  };
  // Where `count` elements lie in so many bytes.
  Line draw_line(const TalkStep& step, std::uint32_t bytes, bool is_source) {
    constexpr std::int32_t kStrides[] = {1, 2, -1, -2, 0};
    const std::uint32_t size = size_of(step.element);
    std::int32_t stride = 1;
    if (step.form == Form::strided) stride = kStrides[random_.below(is_source ? 5 : 4)];
    const std::uint32_t gaps = step.count == 0 ? 0 : step.count - 1;
    const auto far = [&](std::int32_t by) {
      return gaps * size * static_cast<std::uint32_t>(by < 0 ? -by : by);
    };
    if (far(stride) + size > bytes) stride = 1;
    const std::uint32_t extent = far(stride) + (step.count == 0 ? 0 : size);
    const std::uint32_t step_of = alignment_of(step.element);
    const std::uint32_t at = random_.below((bytes - extent) / step_of + 1) * step_of;
    return {at + (stride < 0 ? far(stride) : 0), stride};
  }

  void draw_form(TalkStep& step) {
    const bool may_stride = step.act != TalkAct::tell && !is_on_channel(step);
    step.form = static_cast<Form>(random_.below(may_stride ? 3 : 2));
    step.element = static_cast<Element>(random_.below(kElements));
    if (step.form == Form::bytes) step.element = Element::one;
  }

  static std::uint32_t at(std::uint32_t first, std::int32_t stride, std::uint32_t element,
                          std::uint32_t size) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(first) +
                                      static_cast<std::int32_t>(element * size) * stride);
  }
  // look(remote, local), for each byte that moves.
  template <class Look>
  static bool all_bytes(const TalkStep& step, const Look& look) {
    const std::uint32_t size = size_of(step.element);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      for (std::uint32_t byte = 0; byte < size; ++byte) {
        if (!look(at(step.remote, step.remote_stride, i, size) + byte,
                  at(step.local, step.local_stride, i, size) + byte)) {
          return false;
        }
      }
    }
    return true;
  }

  // Whether a NIC has written what a thread would touch directly, or the other way round: that is
  // ordered by what the PE tells that has the memory, and by nothing else.
  bool is_of_other_path(const TalkStep& step, const Byte& byte) const {
    const bool differ = (byte.way == TalkWay::channel) != is_on_channel(step);
    return shape_.direct && byte.is_there && differ;
  }

  // ---- Puts.

  bool may_write(const TalkStep& step) {
    return all_bytes(step, [&](std::uint32_t remote, std::uint32_t) {
      const Byte& byte = row_[step.pe][remote];
      if (is_of_other_path(step, byte)) return false;
      const bool follows = byte.way == step.way && (byte.fenced || keeps_order(step.way));
      return !byte.told && !byte.is_read && (!byte.moves || follows);
    });
  }

  void write(const TalkStep& step, std::uint32_t remote, std::uint8_t value) {
    row_[step.pe][remote] = {.is_there = true, .moves = true, .way = step.way};
    table_.talk.memory[step.pe].inbox[me_ * kRowBytes + remote] = value;
  }

  // Where a put comes from, and what that holds.
  void draw_source(TalkStep& step) {
    if (is_on_channel(step) && !shape_.alone) return;  // of which one thread alone knows the end
    step.source = static_cast<Source>(random_.below(3));
    if (step.source == Source::own) return;
    if (drafts_[index_of(step.source)]) {  // NICs may still read it
      step.source = Source::own;
      return;
    }
    for (std::uint32_t i = 0; i < kDraftBytes; ++i) {
      step.draft.push_back(static_cast<std::uint8_t>(random_.below(255) + 1));
    }
  }
  static std::size_t index_of(Source source) { return source == Source::draft ? 0 : 1; }
  std::uint8_t source_byte(const TalkStep& step, std::uint32_t local) const {
    return step.source == Source::own ? own_byte(me_ / shape_.players, local) : step.draft[local];
  }

  // A call that moves nothing covers nothing.
  void draw_nothing(TalkStep& step) {
    if (step.count != 0) return;
    step.draft.clear();
    step.nowhere = random_.chance(Odds::of(1, 2));
  }

  bool draw_put(TalkStep& step) {
    draw_form(step);
    draw_source(step);
    const std::uint32_t room = step.source == Source::own ? kRowBytes : kDraftBytes;
    const std::uint32_t size = size_of(step.element);
    step.count = random_.below(room / size / (step.form == Form::strided ? 2 : 1) + 1);
    draw_nothing(step);
    const Line remote = draw_line(step, kRowBytes, false);
    const Line local = draw_line(step, room, true);
    step.remote = remote.first;
    step.remote_stride = remote.stride;
    step.local = local.first;
    step.local_stride = local.stride;
    if (!may_write(step)) return false;
    all_bytes(step, [&](std::uint32_t there, std::uint32_t here) {
      write(step, there, source_byte(step, here));
      return true;
    });
    if (step.source != Source::own && step.ending != Ending::blocking) {
      drafts_[index_of(step.source)] = step.way;
    }
    if (step.ending == Ending::async) add_ticket(step);
    return true;
  }

  bool draw_put_value(TalkStep& step) {
    step.element = static_cast<Element>(random_.below(4));
    const std::uint32_t size = size_of(step.element);
    step.count = 1;
    step.remote = random_.below(kRowBytes / size) * size;
    if (!may_write(step)) return false;
    for (std::uint32_t i = 0; i < size; ++i) {
      write(step, step.remote + i, static_cast<std::uint8_t>(step.value >> 8 * i));
    }
    return true;
  }

  // ---- Gets.

  bool may_read(const TalkStep& step) {
    if (!step.of_inbox) return true;
    return all_bytes(step, [&](std::uint32_t remote, std::uint32_t) {
      const Byte& byte = row_[step.pe][remote];
      if (is_of_other_path(step, byte)) return false;
      return !byte.moves || (byte.way == step.way && shape_.alone && !shape_.direct);
    });
  }
  std::uint8_t there(const TalkStep& step, std::uint32_t remote) const {
    return step.of_inbox ? table_.talk.memory[step.pe].inbox[me_ * kRowBytes + remote]
                         : own_byte(step.pe, remote);
  }

  bool draw_get(TalkStep& step) {
    draw_form(step);
    step.of_inbox = random_.chance(Odds::of(1, 2));
    const std::uint32_t size = size_of(step.element);
    step.count = random_.below(kRowBytes / size / (step.form == Form::strided ? 2 : 1) + 1);
    draw_nothing(step);
    const Line remote = draw_line(step, kRowBytes, true);
    const Line local = draw_line(step, kRowBytes, false);
    step.remote = remote.first;
    step.remote_stride = remote.stride;
    step.local = local.first;
    step.local_stride = local.stride;
    const bool is_free =
        all_bytes(step, [&](std::uint32_t, std::uint32_t here) { return !comes_[here]; });
    if (!is_free || !may_read(step)) return false;
    all_bytes(step, [&](std::uint32_t far, std::uint32_t here) {
      step.got.emplace_back(here, there(step, far));
      if (step.of_inbox && step.ending != Ending::blocking) row_[step.pe][far].is_read = true;
      return true;
    });
    expect_later(step);
    return true;
  }

  // What a call that does not wait brings is looked at when it has come.
  void expect_later(TalkStep& step) {
    if (step.ending == Ending::blocking) return;
    for (const auto& [here, value] : step.got) comes_[here] = true;
    if (step.ending == Ending::async) {
      add_ticket(step);
    } else {
      coming_.insert(coming_.end(), step.got.begin(), step.got.end());
    }
    step.got.clear();
  }

  bool draw_get_value(TalkStep& step) {
    step.element = static_cast<Element>(random_.below(4));
    const std::uint32_t size = size_of(step.element);
    step.count = 1;
    step.remote = random_.below(kRowBytes / size) * size;
    step.of_inbox = random_.chance(Odds::of(1, 2));
    if (!may_read(step)) return false;
    for (std::uint32_t i = 0; i < size; ++i) {
      step.wanted |= std::uint64_t{there(step, step.remote + i)} << 8 * i;
    }
    return true;
  }

  // ---- Completion.

  void add_ticket(const TalkStep& step) { tickets_.push_back({step}); }

  bool draw_await(TalkStep& step) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < tickets_.size(); ++i) {
      if (tickets_[i].is_open) open.push_back(i);
    }
    if (open.empty()) return false;
    step.ticket = open[random_.below(static_cast<std::uint32_t>(open.size()))];
    Pending& pending = tickets_[step.ticket];
    pending.is_open = false;
    step.way = pending.step.way;
    step.by_test = shape_.alone && !pending.step.more && random_.chance(Odds::of(1, 2));
    step.got = pending.step.got;
    for (const auto& [here, value] : step.got) comes_[here] = false;
    if (pending.step.source != Source::own) {
      drafts_[index_of(pending.step.source)].reset();
    }
    return true;
  }

  void fence(TalkWay way) {
    for (auto& row : row_) {
      for (Byte& byte : row) byte.fenced |= byte.moves && byte.way == way;
    }
  }

  // quiet: of channels apart from the queues.
  void complete(TalkStep& step) {
    const bool of_channel = is_on_channel(step);
    const auto is_done = [&](TalkWay way) { return (way == TalkWay::channel) == of_channel; };
    for (auto& row : row_) {
      for (Byte& byte : row) {
        if (byte.moves && is_done(byte.way)) byte.moves = byte.fenced = false;
        byte.is_read &= of_channel;
      }
    }
    for (auto& way : drafts_) {
      if (way && is_done(*way)) way.reset();
    }
    step.own_row = own_row_of(is_done);
    for (Pending& pending : tickets_) {
      if (!pending.is_open || !is_done(pending.step.way)) continue;
      coming_.insert(coming_.end(), pending.step.got.begin(), pending.step.got.end());
      pending.step.got.clear();
      pending.step.source = Source::own;
    }
    if (of_channel) return;
    step.got = std::move(coming_);
    coming_.clear();
    comes_.assign(kRowBytes, false);
    counters_.assign(shape_.pes, {});
    for (auto& of_hearer : table_.pairs) of_hearer[me_].open = false;
  }
  // What has been put to the player's own PE by these ways.
  template <class IsDone>
  Expected own_row_of(const IsDone& is_done) const {
    const std::uint32_t pe = me_ / shape_.players;
    Expected bytes;
    for (std::uint32_t i = 0; i < kRowBytes; ++i) {
      const Byte& byte = row_[pe][i];
      if (!byte.is_there || !is_done(byte.way)) continue;
      bytes.emplace_back(i, table_.talk.memory[pe].inbox[me_ * kRowBytes + i]);
    }
    return bytes;
  }
  void add_quiet(TalkWay way) {
    TalkStep step;
    step.way = way;
    complete(step);
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
    table_.talk.memory[step.pe].words[step.player * shape_.all() + me_] = pair.value;
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
      byte.told = true;
      told.emplace_back(i, table_.talk.memory[step.pe].inbox[me_ * kRowBytes + i]);
    }
    return told;
  }

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
    std::uint64_t& word = table_.talk.memory[step.pe].counters[me_ * 2 + (step.narrow ? 1 : 0)];
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
    std::uint64_t& word =
        table_.talk.memory[step.pe].counters[shape_.all() * 2 + (step.narrow ? 1 : 0)];
    word += step.value;
    if (step.narrow) word &= 0xffffffffu;
    return true;
  }

  bool draw_lock(TalkStep& step) {
    step.lock = random_.below(kTalkLocks);
    if (shape_.partly) step.pe = shape_.pes - 1;
    step.by_test = random_.chance(Odds::of(1, 4));
    table_.talk.memory[step.pe].guarded[step.lock] += step.value;
    return true;
  }

  Table& table_;
  Generator& random_;
  const TalkShape& shape_;
  const std::uint32_t me_;
  const bool takes_any_;                // receives are of any PE
  std::vector<std::vector<Byte>> row_;  // [pe][byte of my row]
  std::vector<Counter> counters_;       // [pe]
  std::optional<TalkWay> drafts_[2];    // by which way they are read
  std::vector<bool> comes_;             // bytes of `got` that are still to come
  Expected coming_;                     // with quiet
  std::vector<Pending> tickets_;
};

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
  for (std::uint32_t i = 0; i < shape.all() * shape.steps; ++i) {
    talkers[random.below(shape.all())].draw();
  }
  for (Talker& talker : talkers) talker.finish();
  return std::move(table.talk);
}

}  // namespace gdakit::sim::scenarios
