// The attributes of one call of RDMA_VERBS_IOCTL, as the client's header holds them.
//
//   | ib_uverbs_ioctl_hdr | ib_uverbs_attr {id, len, flags, data} | ... |
//
// Every call returns 0 or an errno value, as the kernel's handlers do. Source: the kernel's uapi,
// <rdma/rdma_user_ioctl_cmds.h>.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <type_traits>
#include <vector>

namespace gdakit::softnic::uverbs {

// ib_uverbs_ioctl_hdr without the attributes behind it.
struct CallHeader {
  std::uint16_t length = 0;
  std::uint16_t object_id = 0;
  std::uint16_t method_id = 0;
  std::uint16_t num_attrs = 0;
  std::uint64_t reserved1 = 0;
  std::uint32_t driver_id = 0;
  std::uint32_t reserved2 = 0;
};
static_assert(sizeof(CallHeader) == sizeof(ib_uverbs_ioctl_hdr));

// The attributes of a method, by their numbers: those of the core count from 0, those of the driver
// from UVERBS_UDATA_DRIVER_DATA_FLAG.
struct KnownAttributes {
  std::uint16_t core = 0;  // how many
  std::uint16_t driver = 0;

  bool has(std::uint16_t id) const;
};

class Attributes {
 public:
  // Reads header and attributes from the client's memory.
  int open(std::uint64_t header);

  // As a kernel judges what the client has sent, where the method has these attributes: EINVAL if
  // one comes twice, EPROTONOSUPPORT if there is another one that the client calls mandatory.
  int check(const KnownAttributes& known) const;

  const CallHeader& header() const { return header_; }
  bool has(std::uint16_t id) const { return find(id) != nullptr; }
  // Bytes of the attribute's buffer; 0 if it is absent.
  std::size_t length(std::uint16_t id) const;

  // An input. EINVAL if it is absent or shorter than T, EOPNOTSUPP if it says more than T can.
  template <class T>
  int read(std::uint16_t id, T& to) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return length(id) < sizeof(T) ? EINVAL : read_bytes(id, &to, sizeof(T));
  }
  // An input that grows with the versions of its sender: what is absent is zero.
  template <class T>
  int read_known(std::uint16_t id, T& to) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return read_bytes(id, &to, sizeof(T));
  }

  // An output: as much as the client has room for. Nothing happens if it does not want it.
  template <class T>
  int write(std::uint16_t id, const T& from) {
    static_assert(std::is_trivially_copyable_v<T>);
    return write_bytes(id, &from, sizeof(T));
  }
  int write_bytes(std::uint16_t id, const void* from, std::size_t size);

  // A number that stands in the attribute itself: the handle of an object, or a file. EINVAL if it
  // has more than 32 bits.
  int number(std::uint16_t id, std::uint32_t& to) const;
  int give_number(std::uint16_t id, std::uint32_t value);

  // All elements of an array, of T and nothing else. EINVAL if there are none, or a part of one.
  template <class T>
  int array(std::uint16_t id, std::vector<T>& to) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = length(id);
    if (bytes == 0 || bytes % sizeof(T) != 0) return EINVAL;
    to.resize(bytes / sizeof(T));
    return read_bytes(id, to.data(), bytes);
  }

  // Flags, which are of four or of eight bytes. EINVAL if there are others than those `allowed`.
  int flags(std::uint16_t id, std::uint32_t allowed, std::uint32_t& to) const;

 private:
  const ib_uverbs_attr* find(std::uint16_t id) const;
  int read_bytes(std::uint16_t id, void* to, std::size_t size) const;
  int store(const ib_uverbs_attr& attribute);

  std::uint64_t address_ = 0;
  CallHeader header_;
  std::vector<ib_uverbs_attr> attributes_;
};

}  // namespace gdakit::softnic::uverbs
