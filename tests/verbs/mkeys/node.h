// One end of a connection, with memory and a key that consists of parts of it (mlx5dv_create_mkey).
//
//   Node here(context), there(context);
//   connect(here, there);
//   here.enable(here.list_of({{0, 8}, {64, 8}}));
//   here.post({.opcode = IBV_WR_SEND, ...});
//   here.wait();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace gdakit::mkeys {

// Ends the program with this sentence and status 1.
[[noreturn]] void give_up(const char* what);

struct Freed {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
  void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
  void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
  void operator()(mlx5dv_mkey* mkey) const { mlx5dv_destroy_mkey(mkey); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Freed>;

inline constexpr std::size_t kBytes = 1 << 16;
inline constexpr std::uint16_t kMostParts = 16;

// Which bytes of the memory a key's are, and how libmlx5 is told.
struct Layout {
  const char* name = "";
  std::vector<ibv_sge> list = {};
  std::vector<mlx5dv_mr_interleaved> interleaved = {};
  std::uint32_t repeat = 0;  // of the interleaved ones
  std::vector<std::size_t> places = {};
};

struct Part {
  std::size_t at = 0;
  std::uint32_t bytes = 0;
  std::uint32_t skip = 0;
};

struct Work {
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint64_t local = 0;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
  std::uint64_t remote = 0;
  std::uint32_t rkey = 0;
  std::uint64_t add = 0;  // of a fetch-and-add
};

class Node {
 public:
  explicit Node(ibv_context* context);

  std::uint8_t* bytes() { return bytes_.data(); }
  std::uint64_t address(std::size_t at = 0) {
    return reinterpret_cast<std::uint64_t>(bytes_.data()) + at;
  }
  ibv_mr* mr() { return mr_.get(); }
  mlx5dv_mkey* mkey() { return mkey_.get(); }
  mlx5dv_mkey* outer() { return outer_.get(); }
  ibv_qp* qp() { return qp_.get(); }

  Layout list_of(const std::vector<Part>& parts);
  Layout interleaved_of(std::uint32_t repeat, const std::vector<Part>& parts);

  // Gives a key these parts, by the older calls or by mlx5dv_wr_mkey_configure.
  void enable(mlx5dv_mkey* key, const Layout& layout, bool configures);
  ibv_wc_status invalidate(mlx5dv_mkey* key);
  void receive(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey);
  void post(const Work& work);
  ibv_wc wait();

 private:
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(kBytes);
  Owned<ibv_pd> pd_;
  Owned<ibv_cq> cq_;
  Owned<ibv_mr> mr_;
  Owned<ibv_qp> qp_;
  Owned<mlx5dv_mkey> mkey_, outer_;
};

void connect(Node& one, Node& other);

}  // namespace gdakit::mkeys
