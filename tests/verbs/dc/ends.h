// Ends of DC as a client makes them by libmlx5's own calls.
//
//   Device device(1 << 20);
//   Target target(device, kKey);
//   Initiator initiator(device);
//   initiator.write(target, kKey, from, to, bytes);
//   initiator.wait();                               // IBV_WC_SUCCESS
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace dc {

// Ends the program, unless it holds.
inline void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// The first device, and memory of its own: half of it is the initiators', the other the targets'.
class Device {
 public:
  explicit Device(std::size_t bytes);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  std::uint8_t* at(std::size_t offset) { return memory.data() + offset; }
  std::uint64_t address(std::size_t offset) {
    return reinterpret_cast<std::uintptr_t>(memory.data() + offset);
  }

  std::vector<std::uint8_t> memory;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_port_attr port{};
  ibv_gid gid{};
  bool ethernet = false;
};

class Target {
 public:
  static constexpr int kDepth = 256;

  Target(Device& device, std::uint64_t key);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target();

  std::uint32_t number() const { return qp->qp_num; }
  void post_receive(std::size_t offset, std::uint32_t bytes, std::uint64_t id);
  // The next completion.
  ibv_wc wait();
  void destroy();

  Device& device;
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_ah* way = nullptr;  // to it
};

class Initiator {
 public:
  explicit Initiator(Device& device);
  Initiator(const Initiator&) = delete;
  Initiator& operator=(const Initiator&) = delete;
  ~Initiator();

  void write(const Target& target, std::uint64_t key, std::size_t from, std::size_t to,
             std::uint32_t bytes);
  void read(const Target& target, std::uint64_t key, std::size_t to, std::size_t from,
            std::uint32_t bytes);
  void send(const Target& target, std::uint64_t key, std::size_t from, std::uint32_t bytes,
            std::uint32_t imm);
  void fetch_add(const Target& target, std::uint64_t key, std::size_t result, std::size_t word,
                 std::uint64_t add);
  ibv_wc_status wait();
  // Of those that have completed by now.
  int poll(ibv_wc_status& first_error);

 private:
  template <class Fill>
  void post(const Target& target, std::uint64_t key, std::size_t from, std::uint32_t bytes,
            const Fill& fill);

  Device& device_;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_qp_ex* work_ = nullptr;
  mlx5dv_qp_ex* dc_ = nullptr;
};

}  // namespace dc
