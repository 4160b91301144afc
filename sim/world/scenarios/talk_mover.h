// What one player of a talk moves: which bytes of its row at every PE are written, read or told of,
// and what is complete of that, as far as its steps are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/explore/generator.h"
#include "sim/world/scenarios/talk_program.h"

namespace gdakit::sim::scenarios {

class TalkMover {
 protected:
  TalkMover(const TalkShape& shape, Generator& random, std::vector<TalkMemory>& memory,
            std::uint32_t me)
      : random_(random),
        shape_(shape),
        me_(me),
        memory_(memory),
        row_(shape.pes, std::vector<Byte>(kRowBytes)),
        comes_(kRowBytes, false) {}

  // What has been done to a byte of this player's row at some PE.
  struct Byte {
    bool is_there = false;  // something was ever written
    bool moves = false;     // that may not be complete
    bool fenced = false;
    bool told = false;     // of it
    bool is_read = false;  // by a get that may not be complete
    TalkWay way = TalkWay::first;
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
    memory_[step.pe].inbox[me_ * kRowBytes + remote] = value;
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
    return step.of_inbox ? memory_[step.pe].inbox[me_ * kRowBytes + remote]
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
  }
  // What has been put to the player's own PE by these ways.
  template <class IsDone>
  Expected own_row_of(const IsDone& is_done) const {
    const std::uint32_t pe = me_ / shape_.players;
    Expected bytes;
    for (std::uint32_t i = 0; i < kRowBytes; ++i) {
      const Byte& byte = row_[pe][i];
      if (!byte.is_there || !is_done(byte.way)) continue;
      bytes.emplace_back(i, memory_[pe].inbox[me_ * kRowBytes + i]);
    }
    return bytes;
  }

  Generator& random_;
  const TalkShape& shape_;
  const std::uint32_t me_;
  std::vector<TalkMemory>& memory_;     // [pe], as far as the steps of all have come
  std::vector<std::vector<Byte>> row_;  // [pe][byte of my row]
  std::optional<TalkWay> drafts_[2];    // by which way they are read
  std::vector<bool> comes_;             // bytes of `got` that are still to come

 private:
  Expected coming_;  // with quiet
  std::vector<Pending> tickets_;
};

}  // namespace gdakit::sim::scenarios
