// Calls of RDMA_VERBS_IOCTL as a client builds them, made through Context::call alone.
//
//   std::uint32_t entries = 0;
//   Call call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
//   call.in(UVERBS_ATTR_CREATE_CQ_CQE, 15u).out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries);
//   int error = call.make(context);
//
// A Call keeps copies of its inputs; its outputs are the caller's and stay while it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/device.h"

namespace gdakit::softnic::uverbs::test {

inline std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}

// Where no process has memory.
inline constexpr std::uint64_t kNowhere = 0x10;

class Call {
 public:
  Call(std::uint16_t object, std::uint16_t method) {
    header.object_id = object;
    header.method_id = method;
    header.driver_id = RDMA_DRIVER_MLX5;
  }

  // An input: in the attribute itself if it has at most eight bytes.
  Call& in_bytes(std::uint16_t id, const void* from, std::size_t size) {
    ib_uverbs_attr& attribute = add(id, size);
    if (size <= sizeof attribute.data) {
      if (size != 0) std::memcpy(&attribute.data, from, size);
      return *this;
    }
    const auto* const bytes = static_cast<const std::byte*>(from);
    inputs_.emplace_back(bytes, bytes + size);
    attribute.data = address_of(inputs_.back().data());
    return *this;
  }
  template <class T>
  Call& in(std::uint16_t id, const T& value) {
    return in_bytes(id, &value, sizeof value);
  }
  template <class T>
  Call& out(std::uint16_t id, T& to) {
    return at(id, address_of(&to), sizeof to);
  }
  // An input or output anywhere.
  Call& at(std::uint16_t id, std::uint64_t address, std::size_t size) {
    add(id, size).data = address;
    return *this;
  }
  // A handle or file; also what a new one is written over.
  Call& number(std::uint16_t id, std::uint64_t value = ~std::uint64_t{0}) {
    add(id, 0).data = value;
    return *this;
  }

  // The attribute that was added last: not to be ignored by who does not know it.
  Call& mandatory() {
    attributes_.back().flags = UVERBS_ATTR_F_MANDATORY;
    return *this;
  }

  int make(Context& context) {
    const std::size_t bytes = sizeof header + attributes_.size() * sizeof(ib_uverbs_attr);
    header.num_attrs = static_cast<std::uint16_t>(attributes_.size());
    header.length = static_cast<std::uint16_t>(bytes + extra_length);
    std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
    auto* const begin = reinterpret_cast<std::byte*>(words.data());
    std::memcpy(begin, &header, sizeof header);
    if (!attributes_.empty()) {
      std::memcpy(begin + sizeof header, attributes_.data(), bytes - sizeof header);
    }
    const int error = context.call(address_of(begin));
    if (!attributes_.empty()) {
      std::memcpy(attributes_.data(), begin + sizeof header, bytes - sizeof header);
    }
    return error;
  }

  // What stands in an attribute, once the call is made.
  std::uint32_t given(std::uint16_t id) const { return static_cast<std::uint32_t>(find(id).data); }
  bool written(std::uint16_t id) const {
    return (find(id).flags & UVERBS_ATTR_F_VALID_OUTPUT) != 0;
  }

  CallHeader header;
  int extra_length = 0;  // by which the header lies of its length

 private:
  ib_uverbs_attr& add(std::uint16_t id, std::size_t size) {
    ib_uverbs_attr& attribute = attributes_.emplace_back();
    attribute.attr_id = id;
    attribute.len = static_cast<std::uint16_t>(size);
    return attribute;
  }
  const ib_uverbs_attr& find(std::uint16_t id) const {
    for (const ib_uverbs_attr& one : attributes_) {
      if (one.attr_id == id) return one;
    }
    throw std::out_of_range("the call has no such attribute");
  }

  std::vector<ib_uverbs_attr> attributes_;
  std::list<std::vector<std::byte>> inputs_;
};

// A command of the write() interface, which is an attribute of a call.
class WriteCall : public Call {
 public:
  explicit WriteCall(std::uint32_t command)
      : Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE) {
    in(UVERBS_ATTR_WRITE_CMD, command);
  }
  template <class T>
  WriteCall& core_in(const T& request) {
    in(UVERBS_ATTR_CORE_IN, request);
    return *this;
  }
  template <class T>
  WriteCall& core_out(T& answer) {
    out(UVERBS_ATTR_CORE_OUT, answer);
    return *this;
  }
};

inline constexpr std::uint32_t kExtendedCommand = 0x80000000;

// A fabric of this process alone.
inline Spec own_spec(const std::string& name = "test") {
  Spec spec;
  spec.fabric = name + "-" + std::to_string(::getpid());
  return spec;
}

inline std::unique_ptr<Device> open_device(const Spec& spec = own_spec(), int index = 0) {
  Result<std::unique_ptr<Device>> device = Device::open(spec, index);
  if (!device) throw std::runtime_error(device.error().message());
  return std::move(*device);
}

inline int get_context(Context& context, bool with_devx = false) {
  mlx5_ib_alloc_ucontext_req_v2 request{};
  if (with_devx) request.flags = MLX5_IB_ALLOC_UCTX_DEVX;
  mlx5_ib_alloc_ucontext_resp answer{};
  return Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
      .in(UVERBS_ATTR_UHW_IN, request)
      .out(UVERBS_ATTR_UHW_OUT, answer)
      .make(context);
}

}  // namespace gdakit::softnic::uverbs::test
