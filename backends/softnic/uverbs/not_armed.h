// The arm word of a CQ's doorbell record, before there is the CQ.
//
// A client's first arm is a word of zeroes, and so is its record before that: another word has to
// stand there before the NIC looks.
#pragma once

#include <cstdint>

#include "backends/softnic/uverbs/device.h"

namespace gdakit::softnic::uverbs {

class NotArmed {
 public:
  explicit NotArmed(Device& device) : device_(device) {}
  NotArmed(const NotArmed&) = delete;
  NotArmed& operator=(const NotArmed&) = delete;
  // What stood there stands there again, unless there is a CQ.
  ~NotArmed();

  // 0, or EFAULT.
  int put(DmaAddress record);
  void there_is_a_cq() { arm_ = {}; }

 private:
  Device& device_;
  DmaAddress arm_;  // 0: nothing has been put there
  std::uint32_t before_ = 0;
};

}  // namespace gdakit::softnic::uverbs
