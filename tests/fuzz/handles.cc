#include <array>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/host/memory/host_memory.h"
#include "core/host/sharing/handle_exchange.h"
#include "tests/fuzz/exchanges.h"
#include "tests/fuzz/mad_bootstrap.h"

namespace gdakit::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr int kMostMessages = 40;

// As handle_exchange.cc has it.
struct Message {
  std::uint64_t magic = 0x6764616b69744831;
  HandleExchange::Token token{};
  std::uint32_t rank = 1;
  std::uint32_t round = 1;
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Message) == 56);

class Run {
 public:
  explicit Run(Input input)
      : input_(input.data(), input.size()),
        bootstrap_(0, 2, [this](Bytes blob) { return changed_by(input_, std::move(blob)); }) {
    heap_ = std::move(*memory_.reserve(1 << 16));
    if (!heap_->commit(1 << 15)) throw std::runtime_error("no memory for a heap");
  }

  std::string play() {
    auto exchange = HandleExchange::open(bootstrap_, 3ms);
    if (!exchange) return exchange.error().message().empty() ? "an error without a sentence" : "";
    for (int i = 0; i < kMostMessages && !input_.empty(); ++i) send(**exchange);
    const auto given = (*exchange)->exchange({});
    if (!given) return given.error().message().empty() ? "an error without a sentence" : "";
    if (given->size() != 2) return "chunks of too many PEs";
    return map((*given)[1]);
  }

 private:
  Message some_message(const HandleExchange& exchange) {
    Message message;
    message.token = exchange.token();
    message.count = input_.below(3);
    message.bytes = input_.below(4) == 0 ? input_.take<std::uint64_t>() : 4096 * input_.below(12);
    message.offset = input_.below(4) == 0 ? input_.take<std::uint64_t>() : 4096 * input_.below(12);
    switch (input_.below(16)) {
      case 0: message.rank = input_.take<std::uint32_t>(); break;
      case 1: message.round = input_.below(4); break;
      case 2: message.count = input_.take<std::uint32_t>(); break;
      case 3: message.token[input_.below(16)] ^= 1; break;
      case 4: message.magic ^= 1; break;
      default: break;
    }
    return message;
  }

  // A heap's, mostly.
  UniqueFileDescriptor some_descriptor() {
    switch (input_.below(8)) {
      case 0: return UniqueFileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
      case 1: return UniqueFileDescriptor(::memfd_create("not-sealed", MFD_CLOEXEC));
      default: return std::move(heap_->export_chunk(0)->descriptor);
    }
  }

  void send(const HandleExchange& exchange) {
    const Message message = some_message(exchange);
    const UniqueFileDescriptor descriptor = some_descriptor();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, exchange.name().data(), exchange.name().size());
    std::array<std::byte, 2 * sizeof message> bytes{};
    std::memcpy(bytes.data(), &message, sizeof message);
    iovec part{bytes.data(), input_.below(16) == 1 ? input_.below(bytes.size()) : sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr header{};
    header.msg_name = &address;
    header.msg_namelen =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + exchange.name().size());
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    const std::uint32_t wanted = input_.below(16) == 1 ? input_.below(3) : message.count != 0;
    if (wanted != 0) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(wanted * sizeof(int));
      cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(wanted * sizeof(int));
      const int both[2] = {descriptor.get(), descriptor.get()};
      std::memcpy(CMSG_DATA(rights), both, wanted * sizeof(int));
    }
    static_cast<void>(::sendmsg(sender_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  std::string map(const std::vector<SharedChunk>& chunks) {
    const auto range = std::move(*memory_.reserve(1 << 16));
    for (const SharedChunk& chunk : chunks) {
      if (!range->import_chunk(chunk)) return {};
    }
    if (range->committed() > range->size()) return "more is mapped than was reserved";
    // Touching what is not there would end this process.
    unsigned sum = 0;
    for (std::uint64_t at = 0; at < range->committed(); at += 512) {
      sum += static_cast<unsigned char>(range->base()[at]);
    }
    return sum == 0 ? "" : "bytes that nobody wrote";
  }

  softnic::test::Input input_;
  HostMemoryProvider memory_;
  std::unique_ptr<AddressRange> heap_;
  MadBootstrap bootstrap_;
  UniqueFileDescriptor sender_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

}  // namespace

std::string play_handles(Input input) { return Run(input).play(); }

std::vector<Seed> handle_seeds() {
  // What the peer says of its socket, as this PE does; then messages.
  const Seed one_chunk = {0, 0, 1, 0, 1, 0, 4, 0, 1, 0, 0, 0, 9, 0, 7, 0, 0, 0, 0, 0};
  const Seed none = {0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 7, 0, 0, 0, 0, 0};
  const Seed stranger = {0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 2, 0, 7, 0, 0, 0, 0, 0};
  Seed two_chunks = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const Seed one = {2, 0, 1, 0, 2, 0, 1, 0, static_cast<std::uint8_t>(2 * i),
                      0, 9, 0, 7, 0, 0, 0, 0, 0};
    two_chunks.insert(two_chunks.end(), one.begin(), one.end());
  }
  return {one_chunk, none, stranger, two_chunks};
}

}  // namespace gdakit::fuzz
