// HcaList: which RDMA NICs and ports may be used (GDAKIT_HCA_LIST); HcaMap: by which PE.
//
//   mlx5_0,mlx5_3:1    these alone, the second one by its port 1 alone
//   ^mlx5_1,mlx5_2:2   all but these
//
// Names are those that ibv_devices prints. The empty list allows everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gdakit {

class HcaList {
 public:
  // Nothing if the text is not such a list: an empty name, or a port that is not from 1 to 255.
  static std::optional<HcaList> parse(std::string_view text);

  bool allows(std::string_view name, std::uint8_t port) const;
  // Those of the names that it asks for that are not among `present`.
  std::vector<std::string> unknown(const std::vector<std::string>& present) const;
  // The ports of the device that it asks for by their numbers.
  std::vector<std::uint8_t> ports_of(std::string_view name) const;
  // Whether both name one port at least that is the same; a device without a port may be any of
  // its ports.
  bool shares_a_port(const HcaList& other) const;
  // As parse() takes it.
  std::string text() const;

 private:
  struct Entry {
    std::string name;
    std::optional<std::uint8_t> port;  // none: all ports
  };
  bool lists(std::string_view name, std::uint8_t port) const;

  bool excludes_ = false;
  std::vector<Entry> entries_;
};

// Which NICs each PE of a host takes, in order (GDAKIT_HCA_MAP):
//
//   mlx5_0,mlx5_3:1               one each
//   mlx5_0+mlx5_1,mlx5_2+mlx5_3   two each (GDAKIT_NICS_PER_PE=2)
//   mlx5_0:1+mlx5_0:2             two ports of one device
class HcaMap {
 public:
  // Nothing if the text is not such a list.
  static std::optional<HcaMap> parse(std::string_view text);

  bool empty() const { return entries_.empty(); }
  // Those of the PE of that number among those of its host: a list of one NIC each. None: it may
  // use all.
  std::vector<HcaList> of(std::size_t local_rank) const;
  // Why some PE is not given so many different NICs, and what to do; empty: all are, or there is no
  // entry.
  std::string misfit(std::size_t nics_per_pe) const;
  // As parse() takes it.
  std::string text() const;

 private:
  using Entry = std::vector<HcaList>;
  static std::string text_of(const Entry& entry);

  std::vector<Entry> entries_;
};

}  // namespace gdakit
