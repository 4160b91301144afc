// Memory that the client names, and that may not be there: what a kernel does by copy_from_user and
// copy_to_user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gdakit::softnic::uverbs {

// 0, or EFAULT where not all of it is readable, or writable.
int read_user(void* to, std::uint64_t from, std::size_t size);
int write_user(std::uint64_t to, const void* from, std::size_t size);

// For memory that the NIC will use: its pages are made, as a kernel does that pins them. 0, or
// EFAULT where the client has none, or may not read it, or, if the NIC is to write there, not
// write; ENOMEM for more than the machine has.
int pin(std::uint64_t start, std::uint64_t length, bool writable);

// The inode of the file that is mapped over all of [begin, end), if one is.
std::optional<std::uint64_t> mapped_file(std::uint64_t begin, std::uint64_t end);

}  // namespace gdakit::softnic::uverbs
