// What the kernels of worlds that draw talks do: the steps of one player.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"
#include "sim/world/scenarios/talk_calls.h"
#include "sim/world/scenarios/talk_meeting.h"
#include "sim/world/scenarios/talk_program.h"

namespace gdakit::sim::scenarios {

// What the kernels share.
struct TalkState {
  TalkShape shape;
  Talk talk;              // of the execution that runs
  bool by_lanes = false;  // players are the threads of one block, and not blocks
  bool cut = false;       // puts may take several WQEs
  std::uint32_t exclusive_queue = 0;
  const Witness* witness = nullptr;
  const Channels* channels = nullptr;
  // In the heap.
  std::uint8_t* own = nullptr;      // kRowBytes
  std::uint8_t* drafts = nullptr;   // [player][kDraftBytes]
  std::uint8_t* got = nullptr;      // [player][kRowBytes]
  std::uint8_t* inbox = nullptr;    // [player of the job][kRowBytes]
  std::uint8_t* letters = nullptr;  // [player][PE][kLetters][kLetterBytes]
  std::uint64_t* words = nullptr;   // [player][player of the job]
  std::uint64_t* counters = nullptr;
  Lock* locks = nullptr;
  std::uint64_t* guarded = nullptr;
  std::uint64_t* met = nullptr;  // [player][PE][kMetWords]
  // Outside of it: [player], of kDraftBytes.
  std::vector<std::uint8_t*> asides;

  void draw(std::uint64_t number) { talk = draw_talk(shape, number); }
};

template <class Group, class Pe>
class TalkPlayer {
 public:
  TalkPlayer(const TalkState& state, Pe& pe)
      : state_(state),
        number_(state.by_lanes ? pe.thread_index() : pe.block_index()),
        first_(group_of<Group>(pe)),
        second_(first_.on_queue(1)),
        exclusive_(first_.exclusively_on(state.exclusive_queue)),
        channel_(pe.channel(state.channels[pe.my_pe()], number_)),
        me_(static_cast<std::uint32_t>(pe.my_pe()) * state.shape.players + number_) {}

  void play() {
    if (acts()) post_receives();
    for (const TalkStep& step : state_.talk.steps[me_]) {
      play(step);
      if (!acts()) continue;
      look(state_.got + number_ * kRowBytes, step.got, "what was got is there");
      look(row(), step.own_row, "what was put to oneself is there");
    }
  }

 private:
  auto& machine() { return first_.machine(); }
  // The number of the group's thread that calls.
  std::uint32_t rank() { return state_.by_lanes ? 0 : first_.thread_index(); }
  std::uint32_t ranks() { return state_.by_lanes ? 1 : first_.block_threads(); }
  bool acts() { return rank() == 0; }
  bool is_scribe(const TalkStep& step) { return step.scribe % ranks() == rank(); }
  void expect(bool holds, const char* what) const { state_.witness->expect(holds, what); }
  void succeeds(Status status, const char* what) const { expect(status.ok(), what); }

  void look(const std::uint8_t* at, const Expected& wanted, const char* what) {
    for (const auto& [offset, value] : wanted) {
      expect(machine().load_weak(at + offset) == value, what);
    }
  }

  // act(handle), by the handle whose queue the step takes.
  template <class Act>
  void with_handle(TalkWay way, const Act& act) {
    switch (way) {
      case TalkWay::second: return act(second_);
      case TalkWay::exclusive: return act(exclusive_);
      default: return act(first_);
    }
  }
  std::uint8_t* draft(const TalkStep& step) const {
    return step.source == Source::draft ? state_.drafts + number_ * kDraftBytes
                                        : state_.asides[number_];
  }
  const std::uint8_t* source(const TalkStep& step) const {
    return (step.source == Source::own ? state_.own : draft(step)) + step.local;
  }
  std::uint8_t* row() const { return state_.inbox + me_ * kRowBytes; }
  template <class T, class Byte>
  static T* at(const TalkStep& step, Byte* byte) {
    return step.nowhere ? nullptr : reinterpret_cast<T*>(byte);
  }

  void play(const TalkStep& step) {
    if (is_scribe(step)) {
      for (std::size_t i = 0; i < step.draft.size(); ++i) {
        machine().store_weak(draft(step) + i, step.draft[i]);
      }
    }
    if (step.way == TalkWay::channel) {
      if (acts()) on_channel(step);
      return;
    }
    switch (step.act) {
      case TalkAct::put: return with_handle(step.way, [&](auto& on) { put(step, on); });
      case TalkAct::get: return with_handle(step.way, [&](auto& on) { get(step, on); });
      case TalkAct::tell: return with_handle(step.way, [&](auto& on) { tell(step, on); });
      case TalkAct::hear: return hear(step);
      case TalkAct::fence:
        return with_handle(step.way, [&](auto& on) { succeeds(on.fence(), "fence succeeds"); });
      case TalkAct::quiet: return quiet();
      case TalkAct::await: return with_handle(step.way, [&](auto& on) { await(step, on); });
      case TalkAct::lock: return add_under_lock(step);
      case TalkAct::meet: return meet_others(step);
      default: break;
    }
    if (acts()) with_handle(step.way, [&](auto& on) { change(step, on); });
  }

  // The owner of an exclusive queue closes its batches.
  void quiet() { succeeds(number_ == 0 ? exclusive_.quiet() : first_.quiet(), "quiet succeeds"); }

  // ---- Puts and gets.

  template <class Handle>
  void put(const TalkStep& step, Handle& on) {
    const auto pe = static_cast<int>(step.pe);
    with_element(step.element, [&]<class T>(T) {
      auto* const remote = at<T>(step, row() + step.remote);
      const auto* const local = at<const T>(step, source(step));
      const std::ptrdiff_t there = step.remote_stride;
      const std::ptrdiff_t here = step.local_stride;
      const std::size_t count = step.count;
      switch (step.ending) {
        case Ending::blocking:
          if (step.form == Form::strided) {
            return succeeds(on.iput(remote, local, there, here, count, pe), "iput succeeds");
          }
          return succeeds(step.form == Form::bytes ? on.put_bytes(remote, local, count, pe)
                                                   : on.put(remote, local, count, pe),
                          "put succeeds");
        case Ending::nbi:
          if (step.form == Form::strided) {
            return succeeds(on.iput_nbi(remote, local, there, here, count, pe, batch_of(step)),
                            "iput_nbi is taken");
          }
          return succeeds(step.form == Form::bytes
                              ? on.put_bytes_nbi(remote, local, count, pe, batch_of(step))
                              : on.put_nbi(remote, local, count, pe, batch_of(step)),
                          "put_nbi is taken");
        case Ending::async:
          if (step.form == Form::strided) {
            return keep(on.iput_async(remote, local, there, here, count, pe, batch_of(step)));
          }
          return keep(step.form == Form::bytes
                          ? on.put_bytes_async(remote, local, count, pe, batch_of(step))
                          : on.put_async(remote, local, count, pe, batch_of(step)));
      }
    });
  }

  template <class Handle>
  void get(const TalkStep& step, Handle& on) {
    const auto pe = static_cast<int>(step.pe);
    with_element(step.element, [&]<class T>(T) {
      const auto* const remote =
          at<const T>(step, (step.of_inbox ? row() : state_.own) + step.remote);
      auto* const local = at<T>(step, state_.got + number_ * kRowBytes + step.local);
      const std::ptrdiff_t there = step.remote_stride;
      const std::ptrdiff_t here = step.local_stride;
      const std::size_t count = step.count;
      switch (step.ending) {
        case Ending::blocking:
          if (step.form == Form::strided) {
            return succeeds(on.iget(local, remote, here, there, count, pe), "iget succeeds");
          }
          return succeeds(step.form == Form::bytes ? on.get_bytes(local, remote, count, pe)
                                                   : on.get(local, remote, count, pe),
                          "get succeeds");
        case Ending::nbi:
          if (step.form == Form::strided) {
            return succeeds(on.iget_nbi(local, remote, here, there, count, pe, batch_of(step)),
                            "iget_nbi is taken");
          }
          return succeeds(step.form == Form::bytes
                              ? on.get_bytes_nbi(local, remote, count, pe, batch_of(step))
                              : on.get_nbi(local, remote, count, pe, batch_of(step)),
                          "get_nbi is taken");
        case Ending::async:
          if (step.form == Form::strided) {
            return keep(on.iget_async(local, remote, here, there, count, pe, batch_of(step)));
          }
          return keep(step.form == Form::bytes
                          ? on.get_bytes_async(local, remote, count, pe, batch_of(step))
                          : on.get_async(local, remote, count, pe, batch_of(step)));
      }
    });
  }

  void keep(const Ticket& ticket) {
    succeeds(ticket.status, "what has a ticket is taken");
    tickets_.push_back(ticket);
  }

  template <class Handle>
  void await(const TalkStep& step, Handle& on) {
    const Ticket ticket = tickets_[step.ticket];
    if (!step.by_test) return succeeds(on.wait(ticket), "wait succeeds");
    if (!acts()) return;
    Status status;
    while (!on.test(ticket, &status)) machine().spin(Site::user);
    succeeds(status, "what was tested has succeeded");
  }

  // ---- Words.

  std::uint64_t* word_of(const TalkStep& step) const {
    return state_.words + step.player * state_.shape.all() + me_;
  }

  template <class Handle>
  void tell(const TalkStep& step, Handle& on) {
    const auto pe = static_cast<int>(step.pe);
    const SignalOp op = step.adds ? SignalOp::add : SignalOp::set;
    std::uint64_t* const word = word_of(step);
    if (step.telling == Telling::put_signal) return put_signal(step, on, word, op);
    if (!acts()) return;
    switch (step.telling) {
      case Telling::signal: return succeeds(on.signal(word, step.value, op, pe), "signal is taken");
      case Telling::put_value:
        return with_word(step.element, [&]<class T>(T) {
          succeeds(on.put_value(reinterpret_cast<T*>(word), static_cast<T>(step.value), pe),
                   "put_value is taken");
        });
      default: return succeeds(on.atomic_add(word, step.value, pe), "atomic_add is taken");
    }
  }

  template <class Handle>
  void put_signal(const TalkStep& step, Handle& on, std::uint64_t* word, SignalOp op) {
    const auto pe = static_cast<int>(step.pe);
    with_element(step.element, [&]<class T>(T) {
      auto* const remote = at<T>(step, row() + step.remote);
      const auto* const local = at<const T>(step, source(step));
      const std::size_t count = step.count;
      const std::uint64_t value = step.value;
      switch (step.ending) {
        case Ending::blocking:
          return succeeds(on.put_signal(remote, local, count, word, value, op, pe),
                          "put_signal succeeds");
        case Ending::nbi:
          return succeeds(on.put_signal_nbi(remote, local, count, word, value, op, pe),
                          "put_signal_nbi is taken");
        case Ending::async:
          return keep(on.put_signal_async(remote, local, count, word, value, op, pe));
      }
    });
  }

  // By all threads of the group, of which the first one looks at what was told.
  void hear(const TalkStep& step) {
    const std::uint64_t* const words = state_.words + number_ * state_.shape.all();
    const Status status = hear_words(first_, words, step, [&](std::size_t teller) {
      if (!acts()) return;
      const auto found = std::find_if(step.told.begin(), step.told.end(),
                                      [&](const auto& told) { return told.first == teller; });
      expect(found != step.told.end(), "what is heard was asked for");
      if (found == step.told.end()) return;
      look(state_.inbox + teller * kRowBytes, found->second.row, "what was told of is there");
    });
    succeeds(status, "a wait for words succeeds");
  }

  // They look at what all have done before anybody goes on. No barrier closes the batches of an
  // exclusive queue.
  void meet_others(const TalkStep& step) {
    if (step.meeting != TalkMeeting::barrier || number_ == 0) quiet();
    auto team = first_.team(meeting_team(number_));
    std::uint64_t* const met = state_.met + number_ * state_.shape.pes * kMetWords;
    const auto* const source = reinterpret_cast<const std::uint64_t*>(state_.own + step.local);
    succeeds(meet(team, met, source, step), "a meeting succeeds");
    succeeds(team.sync(), "all are there");
    if (acts()) look_around(step, met);
    succeeds(team.sync(), "all have looked");
  }
  void look_around(const TalkStep& step, const std::uint64_t* met) {
    for (std::size_t i = 0; i < step.brought.size(); ++i) {
      expect(machine().load_weak(met + i) == step.brought[i], "a meeting brings what it should");
    }
    for (const auto& [teller, told] : step.told) {
      look(state_.inbox + teller * kRowBytes, told.row, "what was done before is there");
    }
  }

  // ---- Channels, by the player's first thread.

  std::uint8_t* letter(std::uint32_t from, std::uint32_t number) const {
    return state_.letters +
           ((number_ * state_.shape.pes + from) * kLetters + number) * kLetterBytes;
  }

  void post_receives() {
    for (std::uint32_t pe = 0; pe < state_.shape.pes; ++pe) {
      heard_of_.push_back(0);
      for (std::uint32_t i = 0; i < state_.talk.letters[me_][pe].size(); ++i) {
        succeeds(channel_.post_receive(letter(pe, i), kLetterBytes, static_cast<int>(pe)),
                 "a receive is posted");
      }
    }
  }

  void on_channel(const TalkStep& step) {
    switch (step.act) {
      case TalkAct::put: return put_on_channel(step);
      case TalkAct::send: return step.is_put ? put_with_immediate(step) : send(step);
      case TalkAct::receive: return receive(step);
      case TalkAct::await: return await(step, channel_);
      default: return succeeds(channel_.quiet(), "quiet of a channel succeeds");
    }
  }

  void put_on_channel(const TalkStep& step) {
    const auto pe = static_cast<int>(step.pe);
    with_element(step.element, [&]<class T>(T) {
      auto* const remote = at<T>(step, row() + step.remote);
      const auto* const local = at<const T>(step, source(step));
      if (step.ending == Ending::async) {
        return keep(channel_.put_async(remote, local, step.count, pe, batch_of(step)));
      }
      succeeds(channel_.put_nbi(remote, local, step.count, pe, batch_of(step)),
               "put_nbi of a channel is taken");
    });
  }

  void put_with_immediate(const TalkStep& step) {
    const auto pe = static_cast<int>(step.pe);
    const auto immediate = static_cast<std::uint32_t>(step.value);
    with_element(step.element, [&]<class T>(T) {
      auto* const remote = at<T>(step, row() + step.remote);
      const auto* const local = at<const T>(step, source(step));
      const std::size_t count = step.count;
      switch (step.ending) {
        case Ending::blocking:
          return succeeds(channel_.put_with_immediate(remote, local, count, immediate, pe),
                          "put_with_immediate succeeds");
        case Ending::nbi:
          return succeeds(channel_.put_with_immediate_nbi(remote, local, count, immediate, pe),
                          "put_with_immediate_nbi is taken");
        case Ending::async:
          return keep(channel_.put_with_immediate_async(remote, local, count, immediate, pe));
      }
    });
  }

  void send(const TalkStep& step) {
    const auto pe = static_cast<int>(step.pe);
    with_element(step.element, [&]<class T>(T) {
      const auto* const local = at<const T>(step, source(step));
      switch (step.ending) {
        case Ending::blocking:
          return succeeds(channel_.send(local, step.count, pe), "send succeeds");
        case Ending::nbi:
          return succeeds(channel_.send_nbi(local, step.count, pe), "send_nbi is taken");
        case Ending::async: return keep(channel_.send_async(local, step.count, pe));
      }
    });
  }

  Received next(const TalkStep& step) {
    const auto pe = static_cast<int>(step.pe);
    if (!step.by_test) return step.of_any ? channel_.wait_receive_any() : channel_.wait_receive(pe);
    while (true) {
      const Received got = step.of_any ? channel_.poll_receive_any() : channel_.poll_receive(pe);
      if (got.arrived() || !got.status.ok()) return got;
      machine().spin(Site::user);
    }
  }

  void receive(const TalkStep& step) {
    const Received got = next(step);
    const std::uint32_t pe = step.of_any ? static_cast<std::uint32_t>(got.peer) : step.pe;
    expect(got.status.ok() && pe < state_.shape.pes && got.peer == static_cast<int>(pe),
           "a message comes");
    if (pe >= state_.shape.pes) return;
    const std::uint32_t number = heard_of_[pe]++;
    const std::vector<Letter>& letters = state_.talk.letters[me_][pe];
    expect(number < letters.size() && got.number == number, "it is the next one");
    if (number >= letters.size()) return;
    const Letter& wanted = letters[number];
    expect(got.is_put == wanted.is_put && got.has_immediate == wanted.is_put, "it is of its kind");
    expect(got.immediate == wanted.immediate, "its immediate is right");
    expect(got.bytes == wanted.length || (state_.cut && wanted.is_put), "its length is right");
    expect(got.buffer == letter(pe, number), "it took the oldest receive");
    const std::uint32_t sender = pe * state_.shape.players + number_;
    look(wanted.is_put ? state_.inbox + sender * kRowBytes : letter(pe, number), wanted.bytes,
         "its bytes are there");
  }

  // ---- Atomics and locks.

  template <class Handle>
  void change(const TalkStep& step, Handle& on) {
    switch (step.act) {
      case TalkAct::put_value: return put_value(step, on);
      case TalkAct::get_value: return get_value(step, on);
      default: break;
    }
    const std::uint32_t first = (step.act == TalkAct::count ? state_.shape.all() : me_) * 2;
    std::uint64_t* const word = state_.counters + first + (step.narrow ? 1 : 0);
    if (step.narrow) return change(step, on, reinterpret_cast<std::uint32_t*>(word));
    change(step, on, word);
  }
  template <class Handle, class T>
  void change(const TalkStep& step, Handle& on, T* word) {
    if (step.act != TalkAct::fetch) {
      return succeeds(change_word(on, word, step), "an atomic is taken");
    }
    if (step.ending == Ending::nbi) {
      auto* const to = reinterpret_cast<T*>(state_.got + number_ * kRowBytes + step.local);
      return succeeds(fetch_word_nbi(on, to, word, step), "an atomic that fetches is taken");
    }
    Status status;
    const T before = fetch_word(on, word, step, &status);
    succeeds(status, "an atomic succeeds");
    expect(before == static_cast<T>(step.wanted), "it returns what was there");
  }

  template <class Handle>
  void put_value(const TalkStep& step, Handle& on) {
    with_word(step.element, [&]<class T>(T) {
      succeeds(on.put_value(reinterpret_cast<T*>(row() + step.remote), static_cast<T>(step.value),
                            static_cast<int>(step.pe), batch_of(step)),
               "put_value is taken");
    });
  }
  template <class Handle>
  void get_value(const TalkStep& step, Handle& on) {
    with_word(step.element, [&]<class T>(T) {
      Status status;
      const T got = on.get_value(
          reinterpret_cast<const T*>((step.of_inbox ? row() : state_.own) + step.remote),
          static_cast<int>(step.pe), &status);
      succeeds(status, "get_value succeeds");
      expect(got == static_cast<T>(step.wanted), "it returns what is there");
    });
  }

  void add_under_lock(const TalkStep& step) {
    Lock* const lock = state_.locks + step.lock;
    if (step.by_test) {
      Status status;
      while (!first_.test_lock(lock, &status)) machine().spin(Site::user);
      succeeds(status, "test_lock succeeds");
    } else {
      succeeds(first_.set_lock(lock), "set_lock succeeds");
    }
    if (acts()) with_handle(step.way, [&](auto& on) { add_guarded(step, on); });
    succeeds(first_.clear_lock(lock), "clear_lock succeeds");
  }

  template <class Handle>
  void add_guarded(const TalkStep& step, Handle& on) {
    std::uint64_t* const number = state_.guarded + step.lock;
    if (step.pe == me_ / state_.shape.players) {
      return machine().store_weak(number, machine().load_weak(number) + step.value);
    }
    const auto pe = static_cast<int>(step.pe);
    Status status;
    const std::uint64_t before = on.get_value(number, pe, &status);
    succeeds(status, "get_value of a guarded number succeeds");
    succeeds(on.put_value(number, before + step.value, pe), "put_value of it is taken");
  }

  const TalkState& state_;
  const std::uint32_t number_;  // of the player in its PE
  decltype(group_of<Group>(std::declval<Pe&>())) first_;
  decltype(first_.on_queue(1)) second_;
  decltype(first_.exclusively_on(2)) exclusive_;
  KernelChannel channel_;
  const std::uint32_t me_;  // in the job
  std::vector<Ticket> tickets_;
  std::vector<std::uint32_t> heard_of_;  // messages received, [PE]
};

}  // namespace gdakit::sim::scenarios
