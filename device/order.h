// Every ordering construct of the protocol, by name.
//
// A type says what it orders, before what, for whom, how strong it is (kind, scope), and which test fails
// when it is left out. Protocol code passes the type to the Machine: m.fence(order::X{}), or to the
// load, store or read-modify-write that carries the order. There is no other way to order anything.
#pragma once

#include <string_view>

#include "device/machine.h"

namespace gdakit::order {

// Atomic, and orders nothing.
template <Scope kScope>
struct Relaxed {
  static constexpr Kind kind = Kind::relaxed;
  static constexpr Scope scope = kScope;
};
using RelaxedBlock = Relaxed<Scope::block>;
using RelaxedGpu = Relaxed<Scope::gpu>;
using RelaxedSystem = Relaxed<Scope::system>;

}  // namespace gdakit::order
