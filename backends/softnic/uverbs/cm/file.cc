#include "backends/softnic/uverbs/cm/file.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/own_files.h"

namespace gdakit::softnic::uverbs::cm {

Result<std::shared_ptr<File>> File::open() {
  Result<std::shared_ptr<EventPipe>> pipe = EventPipe::open(sizeof(CompletionRecord));
  if (!pipe) return pipe.error();
  const OpeningOwnFiles opening;
  KeptFile woken = keep_file(UniqueFileDescriptor(::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)));
  if (!woken) return Error::from_errno("rdma_cm: eventfd", errno);
  return std::shared_ptr<File>(new File(std::move(*pipe), std::move(woken)));
}

int File::wait() const {
  std::uint64_t token = 0;
  return ::read(woken_.get(), &token, sizeof token) < 0 ? errno : 0;
}

// Where its token is there already, another one wakes for nothing, and waits again.
void File::has_not_waited() {
  if (waiters_ > 0) --waiters_;
}

void File::say() {
  const bool any = !events_.empty();
  if (any == std::exchange(said_, any)) return;
  const CompletionRecord record;
  if (any) {
    pipe_->put(&record);
  } else {
    pipe_->withdraw(record.element);
  }
}

void File::push(Event event) {
  events_.push_back(std::move(event));
  say();
  if (waiters_ == 0) return;
  static_cast<void>(::write(woken_.get(), &waiters_, sizeof waiters_));
  waiters_ = 0;
}

std::optional<Event> File::pop() {
  if (events_.empty()) return std::nullopt;
  std::optional<Event> event = std::move(events_.front());
  events_.pop_front();
  say();
  return event;
}

std::vector<Event> File::take_events(const Id& id) {
  const auto others = std::stable_partition(
      events_.begin(), events_.end(), [&id](const Event& one) { return one.id.get() != &id; });
  std::vector<Event> taken(std::make_move_iterator(others), std::make_move_iterator(events_.end()));
  events_.erase(others, events_.end());
  say();
  return taken;
}

void File::drop_events(const Group& group) {
  std::erase_if(events_, [&group](const Event& one) { return one.group.get() == &group; });
  say();
}

}  // namespace gdakit::softnic::uverbs::cm
