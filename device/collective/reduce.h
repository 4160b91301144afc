// Reduce (allreduce): element by element, all members' sources combined, on all members.
//
//   linear        up to a part of the scratch memory everyone gives everyone everything; beyond it
//                 each member combines one part of the elements, piece by piece, and gives it to
//                 all
//   logarithmic   recursive doubling
//   ring          parts go round twice: combined the first time, complete the second time; linear
//                 where any member reduces in place, which all tell each other first
//
// Every member gets the same bits: what is combined in different places is combined in one order.
#pragma once

#include "device/collective/combine.h"
#include "device/collective/session.h"

namespace gdakit::collective {

inline constexpr int kLinearReduce = 8;  // members

// A run of elements.
struct Run {
  std::uint64_t first;
  std::uint64_t count;
};

// Piece `round` of part `part`, where `count` elements fall into parts of `part_count`, and those
// into pieces of `piece_count`. May be empty.
GDAKIT_HOST_DEVICE constexpr Run piece_of(std::uint64_t count, std::uint64_t part_count, int part,
                                          std::uint64_t piece_count, std::uint64_t round) {
  const std::uint64_t begin = part_count * static_cast<std::uint64_t>(part);
  const std::uint64_t part_end = begin + part_count < count ? begin + part_count : count;
  const std::uint64_t first = begin + round * piece_count;
  if (first >= part_end) return {begin, 0};
  return {first, part_end - first < piece_count ? part_end - first : piece_count};
}

// What a reduction is about.
template <class C>
struct Reduction {
  C combine;
  std::byte* dest;
  const std::byte* source;
  std::uint64_t count;  // of elements

  GDAKIT_DEVICE std::uint64_t bytes_of(std::uint64_t elements) const {
    return elements * combine.element_bytes();
  }
  // How many elements fit into so many bytes.
  GDAKIT_DEVICE std::uint64_t elements_in(std::uint64_t bytes) const {
    return bytes / combine.element_bytes();
  }
  GDAKIT_DEVICE std::byte* dest_at(std::uint64_t element) const { return dest + bytes_of(element); }
  GDAKIT_DEVICE const std::byte* source_at(std::uint64_t element) const {
    return source + bytes_of(element);
  }
};

// All elements at once: they fit into a part of the scratch memory.
template <class S, class C>
GDAKIT_DEVICE_CALL void reduce_at_once(S& session, const Reduction<C>& what) {
  const std::uint64_t bytes = what.bytes_of(what.count);
  const std::uint64_t turn = session.take_turns(1);
  std::byte* const mine = session.part(turn, session.me(), session.n());
  session.copy(mine, what.source, bytes);
  if (!session.agree()) return;
  session.send_each([&](int) { return Message{mine, mine, bytes}; });
  session.receive_each();
  if (!session.agree()) return;
  what.combine(session.machine(), session.share(), what.dest, what.count,
               session.parts_of_members(turn));
}

// Each member combines one part, piece by piece. While it does, the next piece is under way.
template <class S, class C>
GDAKIT_DEVICE_CALL void reduce_by_parts(S& session, const Reduction<C>& what) {
  const int n = session.n();
  const std::uint64_t part = divide_up(what.count, static_cast<std::uint64_t>(n));
  const std::uint64_t piece = what.elements_in(session.part_bytes(n));
  const std::uint64_t rounds = divide_up(part, piece);
  const std::uint64_t turn = session.take_turns(rounds);
  const auto give = [&](std::uint64_t round) {
    session.send_each([&](int peer) {
      const Run run = piece_of(what.count, part, peer, piece, round);
      return Message{session.part(turn + round, session.me(), n), what.source_at(run.first),
                     what.bytes_of(run.count)};
    });
  };
  give(0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    session.receive_each();                 // the pieces of this round
    if (round > 0) session.receive_each();  // what came of those of the last one
    if (!session.agree()) return;
    if (round + 1 < rounds) give(round + 1);
    const Run run = piece_of(what.count, part, session.me(), piece, round);
    std::byte* const result = what.dest_at(run.first);
    what.combine(session.machine(), session.share(), result, run.count,
                 session.parts_of_members(turn + round, what.source_at(run.first)));
    if (!session.agree()) return;
    session.send_each([&](int) { return Message{result, result, what.bytes_of(run.count)}; });
  }
  session.receive_each();
  session.complete_each();
}

// Recursive doubling among the largest power of two of members; each of the others has one of them
// do its part. In each round a member sends what it has from a part of the scratch memory that no
// later round of this turn writes.
template <class S, class C>
class Doubling {
 public:
  GDAKIT_DEVICE Doubling(S& session, const Reduction<C>& what, std::uint64_t turn)
      : session_(session),
        what_(what),
        turn_(turn),
        core_(1 << log2_floor(static_cast<std::uint64_t>(session.n()))) {}

  // Part 0 for the source, two for a guest, two for each round, the last one for a guest's result.
  GDAKIT_DEVICE static int parts(const S& session) {
    return 2 * log2_ceil(static_cast<std::uint64_t>(session.n())) + 4;
  }

  GDAKIT_DEVICE void run() {
    session_.copy(has_, what_.source, bytes());
    if (!session_.agree()) return;
    if (session_.me() >= core_) return be_represented();
    const int guest = session_.me() + core_;
    if (guest < session_.n() && !take_in(guest, Way::receive, 1)) return;
    int next = 3;
    for (int distance = 1; distance < core_; distance *= 2, next += 2) {
      if (!take_in(session_.me() ^ distance, Way::both, next)) return;
    }
    if (guest < session_.n()) {
      session_.send_to(guest, {last_part(), has_, bytes()});
    }
    session_.copy(what_.dest, has_, bytes());
  }

 private:
  enum class Way { receive, both };

  GDAKIT_DEVICE std::uint64_t bytes() const { return what_.bytes_of(what_.count); }
  GDAKIT_DEVICE std::byte* part(int number) const {
    return session_.part(turn_, number, parts(session_));
  }
  // Where a guest gives its elements, and gets the result.
  GDAKIT_DEVICE std::byte* last_part() const { return part(parts(session_) - 1); }

  GDAKIT_DEVICE void be_represented() {
    const int host = session_.me() - core_;
    session_.send_to(host, {part(1), has_, bytes()});
    if (session_.receive_from(host)) session_.copy(what_.dest, last_part(), bytes());
  }

  // Takes in what `peer` has, who does the same where it goes both ways, by way of two parts. The
  // lower member's elements stand on the left, so that both get the same bits.
  GDAKIT_DEVICE_CALL bool take_in(int peer, Way way, int first_part) {
    std::byte* const theirs = part(first_part);
    std::byte* const result = part(first_part + 1);
    if (way == Way::both) session_.send_to(peer, {theirs, has_, bytes()});
    if (!session_.receive_from(peer)) return false;
    const std::byte* const left = session_.me() < peer ? has_ : theirs;
    const std::byte* const right = session_.me() < peer ? theirs : has_;
    what_.combine(session_.machine(), session_.share(), result, what_.count,
                  Inputs::of_two(left, right));
    has_ = result;
    return session_.agree();
  }

  S& session_;
  const Reduction<C>& what_;
  std::uint64_t turn_;
  int core_;
  std::byte* has_ = part(0);  // this member's elements, and those it took in
};

template <class S, class C>
GDAKIT_DEVICE_CALL void reduce_by_doubling(S& session, const Reduction<C>& what) {
  using Rounds = Doubling<S, C>;
  const std::uint64_t room = what.elements_in(session.part_bytes(Rounds::parts(session)));
  for (std::uint64_t first = 0; first < what.count; first += room) {
    const std::uint64_t left = what.count - first;
    const Reduction<C> part{what.combine, what.dest_at(first), what.source_at(first),
                            left < room ? left : room};
    Rounds(session, part, session.take_turns(1)).run();
    if (!session.agree()) return;
  }
}

// `dest` takes in what comes, so it must not be `source`.
template <class S, class C>
GDAKIT_DEVICE_CALL void reduce_ring(S& session, const Reduction<C>& what) {
  const int n = session.n();
  const int next = session.after_me(1);
  const int last = session.before_me(1);
  const std::uint64_t part = divide_up(what.count, static_cast<std::uint64_t>(n));
  const auto run_of = [&](int number) { return piece_of(what.count, part, number, part, 0); };
  const auto pass_on = [&](const std::byte* from, const Run& run) {
    session.send_to(next, {what.dest_at(run.first), from, what.bytes_of(run.count)});
    return session.receive_from(last);
  };
  for (int step = 0; step < n - 1; ++step) {
    const Run out = run_of(session.before_me(step));
    const std::byte* const from = step == 0 ? what.source_at(out.first) : what.dest_at(out.first);
    if (!pass_on(from, out)) return;
    const Run in = run_of(session.before_me(step + 1));
    std::byte* const here = what.dest_at(in.first);
    what.combine(session.machine(), session.share(), here, in.count,
                 Inputs::of_two(here, what.source_at(in.first)));
    if (!session.agree()) return;
  }
  for (int step = 0; step < n - 1; ++step) {
    const Run out = run_of(session.wrap(session.before_me(step) + 1));
    if (!pass_on(what.dest_at(out.first), out)) return;
  }
  session.by_one([&] { return session.complete(next); });
}

// Sets *any to whether `mine` holds for any member: they all tell each other. False if the threads
// are to go no further.
template <class S>
GDAKIT_DEVICE_CALL bool any_member(S& session, bool mine, bool* any) {
  auto& m = session.machine();
  const std::uint64_t turn = session.take_turns(1);
  const auto word_of = [&](int member) {
    return reinterpret_cast<std::uint64_t*>(session.part(turn, member, session.n()));
  };
  std::uint64_t* const own = word_of(session.me());
  session.by_one([&] {
    m.store_weak(own, std::uint64_t{mine});
    return Status{};
  });
  if (!session.agree()) return false;
  session.send_each([&](int) { return Message{own, own, sizeof(*own)}; });
  session.receive_each();
  if (!session.agree()) return false;
  *any = false;
  for (int member = 0; member < session.n(); ++member) {
    *any = *any || m.load_weak(word_of(member)) != 0;
  }
  return true;
}

template <class S, class C>
GDAKIT_DEVICE CollectiveAlgorithm reduce_algorithm(const S& session, const Reduction<C>& what) {
  if (session.algorithm() != CollectiveAlgorithm::automatic) return session.algorithm();
  if (session.n() <= kLinearReduce) return CollectiveAlgorithm::linear;
  const std::uint64_t bytes = what.bytes_of(what.count);
  const bool small = bytes <= session.part_bytes(Doubling<S, C>::parts(session));
  return small ? CollectiveAlgorithm::logarithmic : CollectiveAlgorithm::ring;
}

template <class S, class C>
GDAKIT_DEVICE void reduce_linear(S& session, const Reduction<C>& what) {
  if (what.bytes_of(what.count) <= session.part_bytes(session.n())) {
    reduce_at_once(session, what);
  } else {
    reduce_by_parts(session, what);
  }
}

// `dest` may be `source`, on any of the members; otherwise they must not overlap. Sums cannot go
// round where a member's source would be overwritten by what comes: so members agree on that first.
template <class S, class C>
GDAKIT_DEVICE Status reduce(S& session, const Reduction<C>& what) {
  if (what.count == 0) return session.nothing();
  const std::uint64_t bytes = what.bytes_of(what.count);
  if (!session.begin({what.dest, bytes}, {what.source, bytes})) return session.status();
  const CollectiveAlgorithm algorithm = reduce_algorithm(session, what);
  if (session.n() == 1) {
    session.copy(what.dest, what.source, bytes);
  } else if (algorithm == CollectiveAlgorithm::logarithmic) {
    reduce_by_doubling(session, what);
  } else if (algorithm == CollectiveAlgorithm::ring) {
    bool in_place = false;
    if (!any_member(session, what.dest == what.source, &in_place)) return session.status();
    if (in_place) {
      reduce_linear(session, what);
    } else {
      reduce_ring(session, what);
    }
  } else {
    reduce_linear(session, what);
  }
  session.agree();
  return session.status();
}

// Part me() of the members' combined sources, `count` elements, comes to `dest`; a source has n()
// parts. `dest` may be the source's first part.
template <class S, class C>
GDAKIT_DEVICE_CALL Status reduce_scatter(S& session, const Reduction<C>& what) {
  if (what.count == 0) return session.nothing();
  const int n = session.n();
  const std::uint64_t bytes = what.bytes_of(what.count);
  const Buffer whole_source{what.source, bytes * static_cast<std::uint64_t>(n)};
  if (!session.begin({what.dest, bytes}, whole_source)) return session.status();
  const std::uint64_t piece = what.elements_in(session.part_bytes(n));
  const std::uint64_t rounds = divide_up(what.count, piece);
  const std::uint64_t turn = session.take_turns(rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto run_of = [&](int member) {
      return piece_of(what.count * static_cast<std::uint64_t>(n), what.count, member, piece, round);
    };
    session.send_each([&](int peer) {
      const Run run = run_of(peer);
      return Message{session.part(turn + round, session.me(), n), what.source_at(run.first),
                     what.bytes_of(run.count)};
    });
    session.receive_each();
    session.complete_each();  // `dest` may be there
    if (!session.agree()) return session.status();
    const Run mine = run_of(session.me());
    what.combine(session.machine(), session.share(), what.dest_at(round * piece), mine.count,
                 session.parts_of_members(turn + round, what.source_at(mine.first)));
    if (!session.agree()) return session.status();
  }
  return session.status();
}

}  // namespace gdakit::collective
