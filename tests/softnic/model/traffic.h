// What clients ask for, at random.
#pragma once

#include "tests/softnic/model/client.h"

namespace gdakit::softnic::test::model {

enum class Wish {
  anything,
  spoiled,  // it has a flaw, and its queue will fail
  brief,    // a NOP, or sometimes a WRITE: so that many are in one turn of the engine
};

// Posts one WQE, sometimes two that belong together, without telling the NIC; false if there is no
// room.
bool post_something(End& end, std::uint32_t mtu, Wish wish);

}  // namespace gdakit::softnic::test::model
