#include "backends/softnic/uverbs/attributes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <rdma/ib_user_ioctl_cmds.h>

#include "backends/softnic/uverbs/user_memory.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kMostBytes = 4096;  // of header and attributes

// An input of up to eight bytes stands in the attribute itself.
bool is_inline(const ib_uverbs_attr& attribute) { return attribute.len <= sizeof(attribute.data); }

}  // namespace

int Attributes::open(std::uint64_t header) {
  address_ = header;
  if (const int error = read_user(&header_, header, sizeof header_)) return error;
  const std::size_t bytes = sizeof(ib_uverbs_attr) * header_.num_attrs;
  if (header_.length > kMostBytes || header_.length != sizeof header_ + bytes) return EINVAL;
  if (header_.reserved1 != 0 || header_.reserved2 != 0) return EPROTONOSUPPORT;
  attributes_.resize(header_.num_attrs);
  return read_user(attributes_.data(), header + sizeof header_, bytes);
}

bool KnownAttributes::has(std::uint16_t id) const {
  if (id < UVERBS_UDATA_DRIVER_DATA_FLAG) return id < core;
  return id - UVERBS_UDATA_DRIVER_DATA_FLAG < driver;
}

int Attributes::check(const KnownAttributes& known) const {
  for (const ib_uverbs_attr& one : attributes_) {
    if (!known.has(one.attr_id)) {
      if ((one.flags & UVERBS_ATTR_F_MANDATORY) != 0) return EPROTONOSUPPORT;
    } else if (find(one.attr_id) != &one) {
      return EINVAL;
    }
  }
  return 0;
}

const ib_uverbs_attr* Attributes::find(std::uint16_t id) const {
  const auto at = std::find_if(attributes_.begin(), attributes_.end(),
                               [id](const ib_uverbs_attr& one) { return one.attr_id == id; });
  return at == attributes_.end() ? nullptr : &*at;
}

std::size_t Attributes::length(std::uint16_t id) const {
  const ib_uverbs_attr* const attribute = find(id);
  return attribute == nullptr ? 0 : attribute->len;
}

int Attributes::read_bytes(std::uint16_t id, void* to, std::size_t size) const {
  std::memset(to, 0, size);
  const ib_uverbs_attr* const attribute = find(id);
  if (attribute == nullptr || attribute->len == 0) return 0;
  std::vector<std::byte> bytes(attribute->len);
  if (is_inline(*attribute)) {
    std::memcpy(bytes.data(), &attribute->data, bytes.size());
  } else if (const int error = read_user(bytes.data(), attribute->data, bytes.size())) {
    return error;
  }
  const std::size_t known = std::min(size, bytes.size());
  std::memcpy(to, bytes.data(), known);
  const bool says_more = std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(known),
                                     bytes.end(), [](std::byte one) { return one != std::byte{}; });
  return says_more ? EOPNOTSUPP : 0;
}

int Attributes::write_bytes(std::uint16_t id, const void* from, std::size_t size) {
  const ib_uverbs_attr* const attribute = find(id);
  if (attribute == nullptr) return 0;
  const std::size_t room = std::min<std::size_t>(size, attribute->len);
  if (const int error = write_user(attribute->data, from, room)) return error;
  ib_uverbs_attr written = *attribute;
  written.flags |= UVERBS_ATTR_F_VALID_OUTPUT;
  return store(written);
}

int Attributes::number(std::uint16_t id, std::uint32_t& to) const {
  const ib_uverbs_attr* const attribute = find(id);
  if (attribute == nullptr || attribute->len != 0) return EINVAL;
  if (attribute->data > std::numeric_limits<std::uint32_t>::max()) return EINVAL;
  to = static_cast<std::uint32_t>(attribute->data);
  return 0;
}

int Attributes::give_number(std::uint16_t id, std::uint32_t value) {
  const ib_uverbs_attr* const attribute = find(id);
  if (attribute == nullptr) return EINVAL;
  ib_uverbs_attr given = *attribute;
  given.data = value;
  return store(given);
}

int Attributes::flags(std::uint16_t id, std::uint32_t allowed, std::uint32_t& to) const {
  const std::size_t bytes = length(id);
  if (bytes != sizeof(std::uint32_t) && bytes != sizeof(std::uint64_t)) return EINVAL;
  std::uint64_t value = 0;
  if (const int error = read_bytes(id, &value, sizeof value)) return error;
  if ((value & ~std::uint64_t{allowed}) != 0) return EINVAL;
  to = static_cast<std::uint32_t>(value);
  return 0;
}

// Puts the attribute into the client's header, in its place.
int Attributes::store(const ib_uverbs_attr& attribute) {
  const auto index = static_cast<std::size_t>(find(attribute.attr_id) - attributes_.data());
  attributes_[index] = attribute;
  return write_user(address_ + sizeof header_ + index * sizeof attribute, &attribute,
                    sizeof attribute);
}

}  // namespace gdakit::softnic::uverbs
