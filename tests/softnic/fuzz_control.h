// The control path in a fuzz run: beside the queue pair under traffic, objects of several owners
// are created, modified and removed in any order; and that queue pair is modified as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/softnic/objects/kinds.h"
#include "tests/softnic/fuzz_input.h"
#include "tests/softnic/fuzz_side.h"

namespace gdakit::softnic::test {

class FuzzControl {
 public:
  explicit FuzzControl(FuzzSide& side) : side_(side), engine_(side.engine) {}

  // One call. Returns what was violated, empty for nothing:
  //   - on an object of another owner it is refused with BAD_RES;
  //   - on own objects, with good attributes, it succeeds, but for what is in use;
  //   - a queue pair is in the state that it was brought to, or in its old one if that was refused.
  std::string act(Input& input, const FuzzSide& peer);
  // A modify of the queue pair under traffic, which may end in error.
  std::string modify_busy_qp(Input& input);
  // Removes all objects; they go if users go first.
  std::string remove_all();

 private:
  struct Object {
    ObjectKind kind = ObjectKind::pd;
    std::uint32_t number = 0;
    Uid owner = kNicUid;
  };
  // Some object that a call names, as the caller sees it.
  enum class Seen : std::uint8_t { own, foreign, unknown };
  struct Named {
    std::uint32_t number = 0;
    Seen seen = Seen::unknown;
  };

  Named name(Input& input, ObjectKind kind, Uid uid);
  std::string create(Input& input, Uid uid);
  Outcome<std::uint32_t> create_mkey(Input& input, Uid uid, Seen& seen);
  Outcome<std::uint32_t> create_srq(Input& input, Uid uid, Seen& seen);
  Outcome<std::uint32_t> create_qp(Input& input, Uid uid, Seen& seen);
  std::string remove(Input& input, Uid uid);
  Status remove(ObjectKind kind, std::uint32_t number, Uid uid);
  std::string modify(Input& input, Uid uid, const FuzzSide& peer);
  std::string modify(QpNumber qpn, const QpModify& modify, Uid uid);
  std::string arm(Input& input, Uid uid);
  void ring(Input& input);

  FuzzSide& side_;
  Engine& engine_;
  std::vector<Object> objects_;
};

}  // namespace gdakit::softnic::test
