// One group's way through one collective operation of a team: who of its threads does what, and
// that all of them agree on how it goes.
//
//   Session<M, Group> session(m, context, group, team);
//   if (!session.begin({dest, bytes}, {source, bytes})) return session.status();
//   session.send_each([&](int) { return Message{there, here, bytes}; });
//   session.receive_each();
//   if (!session.agree()) return session.status();          // the threads meet; data is there
//
// The calling threads share the peers out, and the bytes that they copy themselves. A failure, of
// any thread, ends the collective on this PE and breaks the team here: the counts of messages no
// longer match those of the others.
#pragma once

#include "device/collective/combine.h"
#include "device/collective/messenger.h"
#include "device/team.h"

namespace gdakit::collective {

// Why the team is broken on this PE, as the bits of a Status; 0 if it is not. Stays for good.
template <class M>
GDAKIT_DEVICE std::uint64_t team_error(M& m, const TeamView& team) {
  return m.load(order::RelaxedGpu{}, &team.words->error);
}
template <class M>
GDAKIT_DEVICE void break_team(M& m, const TeamView& team, Status status) {
  m.compare_exchange(order::RelaxedGpu{}, &team.words->error, std::uint64_t{0},
                     bit_cast<std::uint64_t>(status));
}
// For a group of which one thread knows of an error.
template <class M, class Group>
GDAKIT_DEVICE Status agree_on_error(M& m, Group group, const TeamView& team) {
  return bit_cast<Status>(agree(m, group, team_error(m, team)));
}

struct Buffer {
  const void* at;
  std::uint64_t bytes;
};

template <class M, class Group>
class Session {
 public:
  GDAKIT_DEVICE Session(M& m, const DeviceContext& context, Group, const TeamView& team)
      : m_(m),
        context_(context),
        team_(team),
        messenger_(m, context, team_),
        share_(share_of(m, Group{})) {}

  GDAKIT_DEVICE int me() const { return team_.my_pe; }
  GDAKIT_DEVICE int n() const { return team_.n_pes; }
  // The member `steps` behind this one, round the team.
  GDAKIT_DEVICE int after_me(int steps) const { return wrap(me() + steps); }
  GDAKIT_DEVICE int before_me(int steps) const { return wrap(me() - steps + n()); }
  GDAKIT_DEVICE int wrap(int number) const { return number % n(); }

  GDAKIT_DEVICE M& machine() { return m_; }
  GDAKIT_DEVICE Share share() const { return share_; }
  GDAKIT_DEVICE CollectiveAlgorithm algorithm() const { return context_.algorithm; }

  // What all threads of the group agreed on last.
  GDAKIT_DEVICE Status status() const { return status_; }

  // The threads meet: what each of them stored before is part of the operation. False if the team
  // is broken here.
  GDAKIT_DEVICE bool begin() { return goes_on(team_error(m_, team_) == 0); }
  // The same, if `dest` lies in the heap and `source` in memory that can be sent from.
  GDAKIT_DEVICE bool begin(const Buffer& dest, const Buffer& source) {
    return may_use(dest, source) && begin();
  }
  // Otherwise refuses the operation, in all threads alike.
  GDAKIT_DEVICE_CALL bool may_use(Buffer dest, Buffer source) {
    const auto to = reinterpret_cast<std::uint64_t>(dest.at);
    const auto from = reinterpret_cast<std::uint64_t>(source.at);
    const bool has_dest = dest.bytes == 0 || is_in_heap(context_.heap, to, dest.bytes);
    if (has_dest && is_local(context_, from, source.bytes)) return true;
    status_ = report_fault(m_, context_, Operation::collective,
                           has_dest ? Fault::local_memory : Fault::heap_memory, context_.my_pe,
                           has_dest ? from : to, has_dest ? source.bytes : dest.bytes);
    return false;
  }

  // All of an operation that has nothing to move: ok, unless the team is broken here.
  GDAKIT_DEVICE Status nothing() {
    begin();
    return status_;
  }

  // The threads meet, and go on if none has failed.
  GDAKIT_DEVICE bool agree() { return goes_on(!failed_); }

  // Calls act(peer) for each other member, in one thread of the group each. What fails is agreed
  // on later; a thread that failed does no more.
  template <class Act>
  GDAKIT_DEVICE void each_peer(Act&& act) {
    for (auto i = static_cast<int>(share_.first); i < n() - 1; i += static_cast<int>(share_.step)) {
      by_this_thread([&] { return act(after_me(1 + i)); });
    }
  }
  // Calls act() in one thread of the group.
  template <class Act>
  GDAKIT_DEVICE void by_one(Act&& act) {
    if (share_.first == 0) by_this_thread(act);
  }

  // Sends member `to` a message. By all threads, who copy together what goes to a direct peer.
  GDAKIT_DEVICE_CALL void send_to(int to, const Message& message) {
    const bool direct = messenger_.is_direct(to);
    if (direct) {
      messenger_.copy_share(share_, to, message);
      meet(m_, Group{});
    }
    by_one([&] { return direct ? messenger_.tell(to, message) : messenger_.send(to, message); });
  }
  // The same to each other member: `message(peer)` says what.
  template <class MessageTo>
  GDAKIT_DEVICE void send_each(MessageTo&& message) {
    for (int i = 1; i < n(); ++i) {
      const int peer = after_me(i);
      if (!messenger_.is_direct(peer)) continue;
      messenger_.copy_share(share_, peer, message(peer));
    }
    meet(m_, Group{});
    each_peer([&](int peer) {
      return messenger_.is_direct(peer) ? messenger_.tell(peer, message(peer))
                                        : messenger_.send(peer, message(peer));
    });
  }
  // Waits for the next message of member `from`; false if the threads are to go no further.
  GDAKIT_DEVICE bool receive_from(int from) {
    by_one([&] { return receive(from); });
    return agree();
  }
  GDAKIT_DEVICE void receive_each() {
    each_peer([&](int peer) { return receive(peer); });
  }
  GDAKIT_DEVICE void complete_each() {
    each_peer([&](int peer) { return complete(peer); });
  }

  // Within each_peer and by_one.
  GDAKIT_DEVICE Status signal(int to, bool ordered = false) {
    return messenger_.signal(to, ordered);
  }
  GDAKIT_DEVICE Status receive(int from) { return messenger_.receive(from); }
  GDAKIT_DEVICE Status complete(int to) { return messenger_.complete(to); }

  // Copies by all threads; `to` may be `from`. The threads meet before anyone looks at it.
  GDAKIT_DEVICE void copy(void* to, const void* from, std::uint64_t bytes) {
    if (to == from) return;
    direct::copy_share<direct::Way::put>(m_, share_, to, from, bytes);
  }

  // Takes the scratch memory for `turns` uses and returns the number of the first. Turns of even
  // and of odd numbers have halves of their own: a member may write into the half of turn t + 2
  // when it knows that all have finished turn t. It does when it has ended turn t + 1: a turn is
  // ended only by those who have heard, be it through others, that every member has begun it, and
  // so finished the one before. Nobody may write what it sends from, either, before its messages
  // are known to be delivered: a NIC that has lost their acknowledges sends them again, and reads
  // them then. It waits for that before it begins a turn, since members that lay the half out
  // otherwise write there as soon as they have ended this one.
  GDAKIT_DEVICE std::uint64_t take_turns(std::uint64_t turns) {
    complete_each();
    const std::uint64_t first = gdakit::agree(m_, Group{}, m_.load_weak(&team_.words->turn));
    meet(m_, Group{});
    if (share_.first == 0) m_.store_weak(&team_.words->turn, first + turns);
    return first;
  }
  // Part `number` of `parts` equal ones of the half that `turn` uses; the same on all members.
  GDAKIT_DEVICE std::byte* part(std::uint64_t turn, int number, int parts) const {
    return team_.scratch + (turn % 2) * half() +
           static_cast<std::uint64_t>(number) * part_bytes(parts);
  }
  // One part for each member; this one's own is `own` where that is given.
  GDAKIT_DEVICE Inputs parts_of_members(std::uint64_t turn, const std::byte* own = nullptr) const {
    const auto step = static_cast<std::int64_t>(part_bytes(n()));
    return {part(turn, 0, n()), step, n(), own == nullptr ? -1 : me(), own};
  }
  GDAKIT_DEVICE std::uint64_t part_bytes(int parts) const {
    return half() / static_cast<std::uint64_t>(parts) / kAlignment * kAlignment;
  }

 private:
  static constexpr std::uint64_t kAlignment = 16;

  GDAKIT_DEVICE std::uint64_t half() const { return team_.scratch_bytes / 2; }

  // The threads meet. False, with the team's error as the status, if one of them knows of an error.
  GDAKIT_DEVICE_CALL bool goes_on(bool well) {
    if (!meet_any(m_, Group{}, !well)) return true;
    status_ = agree_on_error(m_, Group{}, team_);
    return false;
  }

  template <class Act>
  GDAKIT_DEVICE void by_this_thread(Act&& act) {
    if (failed_) return;
    const Status status = act();
    if (status.ok()) return;
    failed_ = true;
    break_team(m_, team_, status);
  }

  M& m_;
  const DeviceContext& context_;
  const TeamView team_;  // a copy: behind a fence each look at the table would go to memory again
  Messenger<M> messenger_;
  Share share_;
  Status status_;
  bool failed_ = false;
};

}  // namespace gdakit::collective
