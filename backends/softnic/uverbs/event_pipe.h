// What a client reads events from: a completion channel, or the file of asynchronous events.
//
// A pipe, whose read end is the client's: it polls, reads and closes it as it would the kernel's
// file. Records are of one size and begin with the element that the event is for. A client that
// reads more than a record at once gets several, or, by record, one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/softnic/uverbs/own_files.h"
#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

// As ib_uverbs_comp_event_desc.
struct CompletionRecord {
  std::uint64_t element = 0;
};
// As ib_uverbs_async_event_desc.
struct AsyncRecord {
  std::uint64_t element = 0;
  std::uint32_t type = 0;
  std::uint32_t reserved = 0;
};

class EventPipe {
 public:
  enum class Reads : std::uint8_t { of_several, of_one };
  static Result<std::shared_ptr<EventPipe>> open(std::size_t record_bytes,
                                                 Reads reads = Reads::of_several);

  // What the system calls a pipe, by any descriptor of it; 0 for what is none.
  static std::uint64_t identity_of(int file);
  std::uint64_t identity() const { return identity_of(read_.get()); }

  // The client's descriptor of the read end, which is its own from then on. Once.
  int take_client_end() { return client_end_.release(); }

  std::size_t record_bytes() const { return record_bytes_; }
  // False if there is no room: the client has left thousands unread, or, by record, 256. The first
  // time it says so in the log.
  bool put(const void* record) const { return put(record, record_bytes_); }
  // One of another size, to a pipe that is read by record: at most kMostBytes.
  bool put(const void* record, std::size_t bytes) const;
  static constexpr std::size_t kMostBytes = 4096;

  // How many were put, and how many of those the client has read: of records of one size.
  std::uint64_t records_put() const { return put_; }
  std::uint64_t records_read() const;

  // Takes out all records of this element that nobody has read. Returns how many.
  std::uint32_t withdraw(std::uint64_t element) const;

 private:
  EventPipe(std::size_t record_bytes, UniqueFileDescriptor client_end, KeptFile read,
            KeptFile write)
      : record_bytes_(record_bytes),
        client_end_(std::move(client_end)),
        read_(std::move(read)),
        write_(std::move(write)) {}

  const std::size_t record_bytes_;
  UniqueFileDescriptor client_end_;
  // Does not block, whatever the client's does. Kept open, so that a client which has closed its
  // own end is no broken pipe.
  KeptFile read_;
  KeptFile write_;
  mutable std::atomic<bool> told_full_{false};
  mutable std::atomic<std::uint64_t> put_{0};
};

}  // namespace gdakit::softnic::uverbs
