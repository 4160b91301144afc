// Pipes that clients read events from, and the book that says which event goes where.
#include "backends/softnic/uverbs/event_pipe.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/events.h"

namespace gdakit::softnic::uverbs {
namespace {

// The client's end, which does not block here.
class Reader {
 public:
  explicit Reader(EventPipe& pipe) : file_(pipe.take_client_end()) {
    ::fcntl(file_.get(), F_SETFL, O_NONBLOCK);
  }
  template <class Record>
  std::vector<Record> all() const {
    std::vector<Record> records;
    Record record;
    while (::read(file_.get(), &record, sizeof record) == ssize_t{sizeof record}) {
      records.push_back(record);
    }
    return records;
  }
  std::vector<std::uint64_t> elements() const {
    std::vector<std::uint64_t> elements;
    for (const CompletionRecord& record : all<CompletionRecord>()) {
      elements.push_back(record.element);
    }
    return elements;
  }
  void close() { file_ = UniqueFileDescriptor(); }
  int file() const { return file_.get(); }

 private:
  UniqueFileDescriptor file_;
};

std::shared_ptr<EventPipe> open_pipe(std::size_t bytes = sizeof(CompletionRecord)) {
  return std::move(*EventPipe::open(bytes));
}

bool put(const EventPipe& pipe, std::uint64_t element) {
  const CompletionRecord record{element};
  return pipe.put(&record);
}

using Elements = std::vector<std::uint64_t>;

TEST(UverbsEventPipe, GivesRecordsInOrder) {
  const auto pipe = open_pipe();
  const Reader reader(*pipe);
  for (const std::uint64_t element : {5, 6, 5}) EXPECT_TRUE(put(*pipe, element));
  EXPECT_EQ(reader.elements(), (Elements{5, 6, 5}));
}

TEST(UverbsEventPipe, WithdrawLeavesTheOthersInOrder) {
  const auto pipe = open_pipe();
  const Reader reader(*pipe);
  for (const std::uint64_t element : {1, 9, 2, 9, 9, 3}) EXPECT_TRUE(put(*pipe, element));
  EXPECT_EQ(pipe->withdraw(9), 3u);
  EXPECT_EQ(pipe->withdraw(9), 0u);
  EXPECT_EQ(reader.elements(), (Elements{1, 2, 3}));
}

TEST(UverbsEventPipe, WithdrawOfLongRecordsKeepsThemWhole) {
  const auto pipe = open_pipe(sizeof(AsyncRecord));
  const Reader reader(*pipe);
  for (const std::uint64_t element : {1, 2, 1}) {
    const AsyncRecord record{element, 40 + static_cast<std::uint32_t>(element), 0};
    EXPECT_TRUE(pipe->put(&record));
  }
  EXPECT_EQ(pipe->withdraw(1), 2u);
  const auto left = reader.all<AsyncRecord>();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].element, 2u);
  EXPECT_EQ(left[0].type, 42u);
}

TEST(UverbsEventPipe, WithdrawDoesNotBlockAClientWhoseFileBlocks) {
  const auto pipe = open_pipe();
  const UniqueFileDescriptor blocking(pipe->take_client_end());
  EXPECT_EQ(pipe->withdraw(1), 0u);
  EXPECT_EQ(::fcntl(blocking.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(UverbsEventPipe, AFullPipeTakesNoMoreAndLosesNothing) {
  const auto pipe = open_pipe();
  const Reader reader(*pipe);
  std::uint64_t count = 0;
  while (put(*pipe, count)) ++count;
  EXPECT_GE(count, 512u);
  EXPECT_EQ(pipe->withdraw(0), 1u);
  EXPECT_TRUE(put(*pipe, count));
  const Elements elements = reader.elements();
  ASSERT_EQ(elements.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(elements[i], i + 1);
}

TEST(UverbsEventPipe, AClientThatHasClosedItsEndIsNoBrokenPipe) {
  const auto pipe = open_pipe();
  Reader reader(*pipe);
  EXPECT_TRUE(put(*pipe, 1));
  reader.close();
  EXPECT_TRUE(put(*pipe, 1));
  EXPECT_EQ(pipe->withdraw(1), 2u);
}

TEST(UverbsEventPipe, ItsFilesGoWithAnExec) {
  const auto pipe = open_pipe();
  const Reader reader(*pipe);
  EXPECT_NE(::fcntl(reader.file(), F_GETFD) & FD_CLOEXEC, 0);
}

// A book with a CQ and a QP of the same client.
struct UverbsEventBook : testing::Test {
  UverbsEventBook() {
    book.add_cq(3, {0xc0, completions, errors});
    book.add_qp(3, {0xd0, nullptr, errors});
  }

  std::shared_ptr<EventPipe> completions = open_pipe();
  std::shared_ptr<EventPipe> errors = open_pipe(sizeof(AsyncRecord));
  Reader completion_reader{*completions};
  Reader error_reader{*errors};
  EventBook book;
};

TEST_F(UverbsEventBook, CompletionsAndErrorsGoTheirWays) {
  book.event({EventKind::completion, 3});
  book.event({EventKind::cq_error, 3, kCqOverrun});
  book.event({EventKind::qp_fatal, 3});
  EXPECT_EQ(completion_reader.elements(), Elements{0xc0});
  const auto told = error_reader.all<AsyncRecord>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].element, 0xc0u);
  EXPECT_EQ(told[0].type, 0u);  // IBV_EVENT_CQ_ERR
  EXPECT_EQ(told[1].element, 0xd0u);
  EXPECT_EQ(told[1].type, 1u);  // IBV_EVENT_QP_FATAL
}

TEST_F(UverbsEventBook, KindsHaveTheNumbersOfVerbs) {
  const std::pair<EventKind, std::uint32_t> kinds[] = {
      {EventKind::qp_fatal, 1},        {EventKind::qp_invalid_request, 2},
      {EventKind::qp_access_error, 3}, {EventKind::communication_established, 4},
      {EventKind::sq_drained, 5},      {EventKind::last_wqe, 16}};
  for (const auto& [kind, number] : kinds) {
    book.event({kind, 3});
    const auto told = error_reader.all<AsyncRecord>();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].type, number);
  }
}

TEST_F(UverbsEventBook, NobodyIsToldOfWhatIsNotThere) {
  book.event({EventKind::completion, 4});
  book.event({EventKind::qp_fatal, 4});
  book.event({EventKind::port_change, 3});
  EXPECT_TRUE(completion_reader.elements().empty());
  EXPECT_TRUE(error_reader.elements().empty());
}

TEST_F(UverbsEventBook, ListenersMayHaveNoPipes) {
  book.add_cq(5, {0xc5, nullptr, nullptr});
  book.event({EventKind::completion, 5});
  book.event({EventKind::cq_error, 5});
  const EventCounts counts = book.remove_cq(5);
  EXPECT_EQ(counts.completions, 0u);
  EXPECT_EQ(counts.errors, 0u);
}

TEST_F(UverbsEventBook, OnlyWhatWasReadCounts) {
  book.event({EventKind::completion, 3});
  book.event({EventKind::completion, 3});
  CompletionRecord record;
  ASSERT_EQ(::read(completion_reader.file(), &record, sizeof record), ssize_t{sizeof record});
  const EventCounts counts = book.remove_cq(3);
  EXPECT_EQ(counts.completions, 1u);
  EXPECT_EQ(counts.errors, 0u);
  EXPECT_TRUE(completion_reader.elements().empty());
  book.event({EventKind::completion, 3});
  EXPECT_TRUE(completion_reader.elements().empty());
}

TEST_F(UverbsEventBook, ARemovedQueueLeavesTheErrorsOfOthers) {
  book.event({EventKind::qp_fatal, 3});
  book.event({EventKind::cq_error, 3});
  const EventCounts counts = book.remove_qp(3, {0xd0, nullptr, errors});
  EXPECT_EQ(counts.errors, 0u);
  const auto left = error_reader.all<AsyncRecord>();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].element, 0xc0u);
}

TEST_F(UverbsEventBook, WhatAFullPipeDidNotTakeIsNotCounted) {
  for (int i = 0; i < 1 << 17; ++i) book.event({EventKind::completion, 3});
  EXPECT_EQ(book.remove_cq(3).completions, 0u);
  EXPECT_TRUE(completion_reader.elements().empty());
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
