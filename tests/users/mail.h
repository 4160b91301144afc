// A kernel of a user's: PE 0 puts data and then a flag, PE 1 waits for the flag by a loop of its
// own and takes the data.
#pragma once

#include <cstdint>

#include "sim/test.h"

namespace gdakit::users {

using Word = std::uint64_t;

struct Mail {
  Word* draft;
  Word* data;
  Word* flag;
  Word* taken;

  explicit Mail(sim::World& world)
      : draft(world.allocate<Word>("draft", 1)),
        data(world.allocate<Word>("data", 1)),
        flag(world.allocate<Word>("flag", 1, sim::RegionKind::signal)),
        taken(world.allocate<Word>("taken", 1)) {}
};

// `Await` waits for the flag.
template <class Await>
struct Hand {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(mail.draft, 42);
      pe.put_nbi(mail.data, mail.draft, 1, 1);
      pe.put_value(mail.flag, 1, 1);
      pe.quiet();
    } else {
      Await{}(pe, mail.flag);
      m.store_weak(mail.taken, m.load_weak(mail.data));
    }
  }
};

template <class Order>
struct Poll {
  template <class Pe>
  void operator()(Pe& pe, const Word* flag) const {
    while (pe.machine().load(Order{}, flag) == 0) pe.machine().spin(Site::user);
  }
};
struct PollWeakly {
  template <class Pe>
  void operator()(Pe& pe, const Word* flag) const {
    while (pe.machine().load_weak(flag) == 0) pe.machine().spin(Site::user);
  }
};
struct WaitUntil {
  template <class Pe>
  void operator()(Pe& pe, const Word* flag) const {
    pe.wait_until(flag, Compare::eq, 1);
  }
};

using GoodHand = Hand<Poll<order::Acquire<Scope::system>>>;
using BadHand = Hand<Poll<order::RelaxedSystem>>;

template <class Kernel>
void set_up(sim::World& world) {
  const Mail mail(world);
  world.launch({.blocks = 1, .threads = 1}, Kernel{mail});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, mail.taken) == 42, "PE 1 takes what PE 0 sent");
  });
}

}  // namespace gdakit::users
