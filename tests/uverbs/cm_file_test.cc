// Open files of rdma_cm: what can be polled, and who waits for events.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/file.h"
#include "backends/softnic/uverbs/cm/id.h"
#include "core/base/file_descriptor.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

using namespace std::chrono_literals;

class CmFile : public testing::Test {
 protected:
  bool is_readable() const {
    pollfd file{client_end_.get(), POLLIN, 0};
    return ::poll(&file, 1, 0) == 1 && (file.revents & POLLIN) != 0;
  }

  const std::shared_ptr<File> file_ = *File::open();
  const UniqueFileDescriptor client_end_{file_->take_client_end()};
};

TEST_F(CmFile, IsReadableWhileThereAreEvents) {
  EXPECT_FALSE(is_readable());
  file_->push({.kind = EventKind::established});
  file_->push({.kind = EventKind::disconnected});
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(file_->pop()->kind, EventKind::established);
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(file_->pop()->kind, EventKind::disconnected);
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(file_->pop());
}

TEST_F(CmFile, WakesWhoWaits) {
  file_->will_wait();
  std::thread waiting([this] { EXPECT_EQ(file_->wait(), 0); });
  std::this_thread::sleep_for(5ms);
  file_->push({.kind = EventKind::established});
  waiting.join();
  EXPECT_TRUE(file_->pop());
}

TEST_F(CmFile, DoesNotMissWhatComesBeforeTheWait) {
  file_->will_wait();
  file_->push({.kind = EventKind::established});
  EXPECT_EQ(file_->wait(), 0);
}

// 0: the wait goes on until there is an event; or it ends with EINTR.
int wait_with_signal(File& file, int flags) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = flags;
  struct sigaction before {};
  ::sigaction(SIGUSR1, &action, &before);
  file.will_wait();
  std::atomic<bool> ended{false};
  int result = -1;
  std::thread waiting([&] {
    result = file.wait();
    ended = true;
  });
  for (int i = 0; i < 20 && !ended; ++i) {
    std::this_thread::sleep_for(2ms);
    ::pthread_kill(waiting.native_handle(), SIGUSR1);
  }
  if (ended) file.has_not_waited();
  file.push({.kind = EventKind::established});
  waiting.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  return result;
}

TEST_F(CmFile, IsInterruptedAsTheSignalsHandlerWantsIt) {
  EXPECT_EQ(wait_with_signal(*file_, SA_RESTART), 0);
  EXPECT_EQ(wait_with_signal(*file_, 0), EINTR);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
