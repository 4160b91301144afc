// The fields of each message, from and to its layout (mads.h); private data apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backends/softnic/uverbs/cm/mads.h"
#include "backends/softnic/uverbs/cm/message.h"
#include "core/format/prm/mailbox.h"

namespace gdakit::softnic::uverbs::cm {

template <class Layout>
using Out = format::prm::View<Layout, std::uint8_t>;
template <class Layout>
using From = format::prm::View<Layout>;

// As many bytes as both have.
inline void copy(std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
  std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
}

void write(const Message& message, Out<layout::Req> out);
void read(From<layout::Req> in, Message& message);
void write(const Message& message, Out<layout::Mra> out);
void read(From<layout::Mra> in, Message& message);
void write(const Message& message, Out<layout::Rej> out);
void read(From<layout::Rej> in, Message& message);
void write(const Message& message, Out<layout::Rep> out);
void read(From<layout::Rep> in, Message& message);
void write(const Message& message, Out<layout::Rtu> out);
void read(From<layout::Rtu> in, Message& message);
void write(const Message& message, Out<layout::Dreq> out);
void read(From<layout::Dreq> in, Message& message);
void write(const Message& message, Out<layout::SidrReq> out);
void read(From<layout::SidrReq> in, Message& message);
void write(const Message& message, Out<layout::SidrRep> out);
void read(From<layout::SidrRep> in, Message& message);

}  // namespace gdakit::softnic::uverbs::cm
