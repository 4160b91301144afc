// A program of MPI's that compares everything that it gets: messages of 0 bytes to 4 MiB, expected
// and unexpected, collectives, and one-sided access to windows. It knows nothing of gdakit:
//
//   mpirun -n RANKS -x ... verbs_mpi_check
//
// Rank 0 prints how many values were compared. The first that is wrong ends the job.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <numeric>
#include <vector>

namespace {

constexpr int kLongest = 4 << 20;
constexpr int kSizes[] = {0, 1, 8, 1000, 8191, 65536, 300001, kLongest};

int rank = 0;
int ranks = 0;
std::uint64_t compared = 0;

std::uint8_t byte_of(int from, int tag, int offset) {
  std::uint32_t value = static_cast<std::uint32_t>(offset) * 2654435761u;
  value ^= static_cast<std::uint32_t>(from * 977 + tag * 131 + 1) * 40503u;
  return static_cast<std::uint8_t>(value ^ (value >> 8) ^ (value >> 19));
}

std::vector<std::uint8_t> bytes_of(int from, int tag, int size) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) bytes[static_cast<std::size_t>(i)] = byte_of(from, tag, i);
  return bytes;
}

void expect(bool right, const char* what, long found, long wanted) {
  ++compared;
  if (right) return;
  std::fprintf(stderr, "rank %d of %d: %s: %ld, not %ld\n", rank, ranks, what, found, wanted);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void expect_value(long found, long wanted, const char* what) {
  expect(found == wanted, what, found, wanted);
}

// The message of rank `from` with that tag, in front of guards.
void expect_message(const std::vector<std::uint8_t>& memory, int from, int tag, int size,
                    const char* what) {
  const std::vector<std::uint8_t> wanted = bytes_of(from, tag, size);
  const auto at = std::mismatch(wanted.begin(), wanted.end(), memory.begin());
  expect(at.first == wanted.end(), what, at.first - wanted.begin(), size);
  const auto guards = memory.begin() + size;
  expect(std::all_of(guards, memory.end(), [](std::uint8_t byte) { return byte == 0x5a; }), what,
         -1, size);
  compared += static_cast<std::uint64_t>(size);
}

std::vector<std::uint8_t> room_for(int size) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(size) + 64, 0x5a);
}

int to_int(std::size_t size) { return static_cast<int>(size); }

// Each rank sends to the next one around.
void around(bool expected) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  int tag = expected ? 100 : 200;
  for (const int size : kSizes) {
    ++tag;
    const std::vector<std::uint8_t> sent = bytes_of(rank, tag, size);
    std::vector<std::uint8_t> received = room_for(size);
    MPI_Request request;
    if (!expected) MPI_Isend(sent.data(), size, MPI_BYTE, next, tag, MPI_COMM_WORLD, &request);
    if (!expected) MPI_Barrier(MPI_COMM_WORLD);  // the message is there before anyone asks
    MPI_Request other = MPI_REQUEST_NULL;
    MPI_Irecv(received.data(), size, MPI_BYTE, previous, tag, MPI_COMM_WORLD, &other);
    if (expected) MPI_Barrier(MPI_COMM_WORLD);
    if (expected) MPI_Isend(sent.data(), size, MPI_BYTE, next, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Status status;
    MPI_Wait(&other, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect_value(count, size, "length of a message");
    expect_message(received, previous, tag, size, expected ? "expected" : "unexpected");
  }
}

// Rank 0 takes what comes from anyone with any tag; many are under way at once, and those of one
// sender come in their order.
void from_anyone() {
  constexpr int kMessages = 24;
  const auto size_of = [](int i) { return i % 8 == 7 ? 20000 + i : i * 13; };
  if (rank != 0) {
    std::vector<std::vector<std::uint8_t>> sent;
    std::vector<MPI_Request> requests(kMessages);
    for (int i = 0; i < kMessages; ++i) sent.push_back(bytes_of(rank, i, size_of(i)));
    for (int i = 0; i < kMessages; ++i) {
      const auto index = static_cast<std::size_t>(i);
      MPI_Isend(sent[index].data(), size_of(i), MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[index]);
    }
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(ranks));
  for (int i = 0; i < (ranks - 1) * kMessages; ++i) {
    std::vector<std::uint8_t> received = room_for(30000);
    MPI_Status status;
    MPI_Recv(received.data(), 30000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
             &status);
    int& tag = next[static_cast<std::size_t>(status.MPI_SOURCE)];
    expect_value(status.MPI_TAG, tag, "order of one sender's messages");
    expect_message(received, status.MPI_SOURCE, tag, size_of(tag), "from anyone");
    ++tag;
  }
}

void collectives() {
  for (const int count : {1, 5000, 100000}) {
    const auto size = static_cast<std::size_t>(count);
    std::vector<long> own(size), sum(size);
    for (std::size_t i = 0; i < size; ++i) own[i] = static_cast<long>(i) * (rank + 1);
    MPI_Allreduce(own.data(), sum.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const long factor = static_cast<long>(ranks) * (ranks + 1) / 2;
    for (std::size_t i = 0; i < size; ++i) {
      expect_value(sum[i], static_cast<long>(i) * factor, "allreduce");
    }
    std::vector<long> all(size * static_cast<std::size_t>(ranks));
    MPI_Allgather(own.data(), count, MPI_LONG, all.data(), count, MPI_LONG, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto from = static_cast<long>(i / size);
      expect_value(all[i], static_cast<long>(i % size) * (from + 1), "allgather");
    }
    const int root = count % ranks;
    std::vector<std::uint8_t> spread =
        rank == root ? bytes_of(root, count, count) : room_for(count);
    MPI_Bcast(spread.data(), count, MPI_BYTE, root, MPI_COMM_WORLD);
    if (rank != root) expect_message(spread, root, count, count, "broadcast");
  }
  std::vector<int> out, in(static_cast<std::size_t>(ranks) * 300);
  for (int to = 0; to < ranks; ++to) {
    for (int i = 0; i < 300; ++i) out.push_back((rank * 100 + to) * 1000 + i);
  }
  MPI_Alltoall(out.data(), 300, MPI_INT, in.data(), 300, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < to_int(in.size()); ++i) {
    expect_value(in[static_cast<std::size_t>(i)], (i / 300 * 100 + rank) * 1000 + i % 300,
                 "alltoall");
  }
  int before = 0, largest = 0;
  MPI_Scan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_value(before, rank * (rank + 1) / 2, "scan");
  MPI_Reduce(&rank, &largest, 1, MPI_INT, MPI_MAX, ranks - 1, MPI_COMM_WORLD);
  if (rank == ranks - 1) expect_value(largest, ranks - 1, "reduce");
}

// Fences: each rank puts to the next one's window, and gets it back from there.
void put_and_get() {
  constexpr int kWindow = 1 << 20;
  std::vector<std::uint8_t> window = room_for(kWindow - 64);
  MPI_Win handle;
  MPI_Win_create(window.data(), kWindow, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &handle);
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  for (const int size : {1, 8, 1000, 70001, kWindow - 64}) {
    std::fill(window.begin(), window.end(), std::uint8_t{0x5a});
    const std::vector<std::uint8_t> sent = bytes_of(rank, size, size);
    std::vector<std::uint8_t> back = room_for(size);
    MPI_Win_fence(0, handle);
    MPI_Put(sent.data(), size, MPI_BYTE, next, 0, size, MPI_BYTE, handle);
    MPI_Win_fence(0, handle);
    expect_message(window, previous, size, size, "put");
    MPI_Get(back.data(), size, MPI_BYTE, next, 0, size, MPI_BYTE, handle);
    MPI_Win_fence(0, handle);
    expect_message(back, rank, size, size, "get");
  }
  MPI_Win_free(&handle);
}

// Locks: all ranks change the words of rank 0 at once.
void change_words() {
  constexpr int kTimes = 20;
  std::vector<std::int64_t> words(4);
  MPI_Win handle;
  MPI_Win_create(words.data(), rank == 0 ? 32 : 0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &handle);
  std::int64_t last = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, handle);
  for (int i = 0; i < kTimes; ++i) {
    const std::int64_t one = 1;
    std::int64_t found = -1;
    MPI_Fetch_and_op(&one, &found, MPI_INT64_T, 0, 0, MPI_SUM, handle);
    MPI_Win_flush(0, handle);
    expect(found > last, "fetch_and_op", found, last + 1);
    last = found;
    const std::int64_t weight = rank + 1;
    MPI_Accumulate(&weight, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_SUM, handle);
    MPI_Win_flush(0, handle);
  }
  MPI_Win_unlock(0, handle);
  // One rank after the other raises a word by reading and writing it.
  for (int i = 0; i < 5; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, handle);
    std::int64_t value = 0;
    MPI_Get(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, handle);
    MPI_Win_flush(0, handle);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, handle);
    MPI_Win_unlock(0, handle);
  }
  // Each rank hopes to be the one that finds 0.
  const std::int64_t wanted = rank + 1, none = 0;
  std::int64_t found = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, handle);
  MPI_Compare_and_swap(&wanted, &none, &found, MPI_INT64_T, 0, 3, handle);
  MPI_Win_unlock(0, handle);
  int first = found == 0 ? 1 : 0, firsts = 0;
  MPI_Allreduce(&first, &firsts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_value(firsts, 1, "compare_and_swap");
  MPI_Win_fence(0, handle);
  if (rank == 0) {
    expect_value(words[0], kTimes * ranks, "sum of fetch_and_op");
    expect_value(words[1], kTimes * ranks * (ranks + 1) / 2, "sum of accumulate");
    expect_value(words[2], 5 * ranks, "sum under locks");
    expect(words[3] >= 1 && words[3] <= ranks, "compare_and_swap", words[3], 1);
  }
  MPI_Win_fence(0, handle);
  MPI_Win_free(&handle);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  around(true);
  around(false);
  from_anyone();
  collectives();
  put_and_get();
  change_words();
  std::uint64_t sum = 0;
  MPI_Reduce(&compared, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%d ranks compared %lu values\n", ranks, static_cast<unsigned long>(sum));
  MPI_Finalize();
  return 0;
}
