// A test with a played host that has one ConnectX. All that is opened of it has to be given back.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/queue_pair.h"
#include "core/host/memory/host_memory.h"
#include "tests/mlx5/played.h"
#include "tests/mlx5/queue_block.h"

namespace gdakit::mlx5 {

// One port on Ethernet with a GID of RoCE v2, or on InfiniBand; both GIDs begin with fe80.
inline void put_on_ethernet() {
  played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1)};
}
inline void put_on_infiniband() {
  played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND)};
  played().gids = {gid_of(IBV_GID_TYPE_IB, 0xfe, 1)};
}

class PlayedHost : public testing::Test {
 protected:
  PlayedHost() {
    played() = {};
    put_on_ethernet();
  }
  ~PlayedHost() override { EXPECT_THAT(played().held(), testing::IsEmpty()); }

  Result<std::unique_ptr<OpenNic>> open() { return OpenNic::open(libraries_, nic_options_); }

  const Libraries& libraries_ = played_libraries();
  HostMemoryProvider host_;
  NicOptions nic_options_;
};

// Makes a queue pair on such a host.
class PlayedQueuePair : public PlayedHost {
 protected:
  PlayedQueuePair() {
    options_.memory = block_.memory();
    options_.uar = &uar_;
  }

  // Of a queue pair that is made, connected with a peer, and destroyed.
  Result<void> make(const ConnectionCard& peer = {}) {
    const auto nic = open();
    if (!nic) return nic.error();
    QueueUmems umems(**nic, host_);
    const auto pair = QueuePair::create(**nic, umems, options_);
    if (!pair) return pair.error();
    if (auto connected = (*pair)->connect(peer); !connected) return connected;
    if (const auto report = (*pair)->report(); !report) return report.error();
    return (*pair)->destroy();
  }

  QueueBlock block_;
  mlx5dv_devx_uar uar_{};
  QueuePairOptions options_;
};

// The call's name of an entry of Played::errors, without which call of it fails.
inline std::string name_of(const std::string& call) { return call.substr(0, call.find(' ')); }

}  // namespace gdakit::mlx5
