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

// Which NIC each PE of a host takes (GDAKIT_HCA_MAP): mlx5_0,mlx5_3:1
class HcaMap {
 public:
  // Nothing if the text is not such a list.
  static std::optional<HcaMap> parse(std::string_view text);

  bool empty() const { return entries_.empty(); }
  // What the PE of that number among those of its host may use: one NIC, or all.
  HcaList of(std::size_t local_rank) const;
  // As parse() takes it.
  std::string text() const;

 private:
  std::vector<HcaList> entries_;
};

}  // namespace gdakit
