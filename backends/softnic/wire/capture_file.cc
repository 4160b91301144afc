#include "backends/softnic/wire/capture_file.h"

#include <cstring>
#include <utility>

#include "core/base/private_file.h"
#include "core/base/wall_clock.h"

namespace gdakit::softnic {
namespace {

constexpr const char* kCaptures = "captures";

// How many of the first `bytes` bytes are whole blocks.
std::size_t whole_blocks(const BlockQueue::Blocks& blocks, std::size_t bytes) {
  std::size_t at = 0;
  while (at != blocks.size()) {
    const std::size_t length_at = at + sizeof(std::uint32_t);
    const bool in_first = length_at < blocks.first.size();
    std::uint32_t length;
    std::memcpy(
        &length,
        in_first ? &blocks.first[length_at] : &blocks.second[length_at - blocks.first.size()],
        sizeof length);
    if (length > bytes - at) break;
    at += length;
  }
  return at;
}

}  // namespace

Result<std::unique_ptr<CaptureFile>> CaptureFile::create(const std::string& path,
                                                         const CaptureFileOptions& options) {
  Result<UniqueFileDescriptor> fd = open_private_file(path, kCaptures);
  if (!fd) return fd.error().within("CaptureFile::create");
  if (Result<void> emptied = empty_file(fd->get(), path, kCaptures); !emptied) {
    return emptied.error().within("CaptureFile::create");
  }
  std::unique_ptr<CaptureFile> file(new CaptureFile(path, std::move(*fd), options));
  std::vector<std::uint8_t> header;
  pcapng::add_section(header, options.application);
  pcapng::add_interface(header, options.interface_name);
  const Result<void> begun = file->file_.begin(header);
  if (begun) return file;
  return private_file_error(path, kCaptures, begun.error().system_code())
      .within("CaptureFile::create");
}

CaptureFile::CaptureFile(const std::string& path, UniqueFileDescriptor fd,
                         const CaptureFileOptions& options)
    : file_(path, std::move(fd),
            {.queue_bytes = options.queue_bytes,
             .kind = "the capture",
             .block = "packet",
             .whole = whole_blocks,
             .log = options.log}) {}

CaptureFile::~CaptureFile() {
  file_.finish();
  write_statistics();
}

bool CaptureFile::add(pcapng::Captured captured, std::span<const std::uint8_t> frame) {
  captured.interface = 0;
  captured.dropped = untold_drops_;
  block_.clear();
  pcapng::add_packet(block_, captured, frame);
  if (!file_.push(block_)) {
    drop();
    return false;
  }
  ++added_;
  untold_drops_ = 0;
  return true;
}

void CaptureFile::drop() {
  ++dropped_;
  ++untold_drops_;
}

bool CaptureFile::is_full_for(std::size_t frame_bytes) const {
  return file_.is_full_for(frame_bytes);
}

// The writer's thread has ended.
void CaptureFile::write_statistics() {
  if (file_.failed()) return;
  const std::uint64_t packets = added_ + dropped_;
  std::vector<std::uint8_t> block;
  pcapng::add_statistics(block, {.time_ns = wall_ns(), .received = packets, .dropped = dropped_});
  file_.append(block);
  if (dropped_ == 0) return;
  file_.log().warn("the capture " + file_.path() + " lacks " + std::to_string(dropped_) + " of " +
                   std::to_string(packets) +
                   " packets: they came faster than the file was written, which a faster disk or "
                   "memory helps against, or have no form in RoCEv2");
}

}  // namespace gdakit::softnic
