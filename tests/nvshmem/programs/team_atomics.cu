// Two teams, PEs of even and of odd numbers. Within each, every PE changes the words of the team's
// first PE by atomics of several types. Init names the thread level, and needs no MPI.
#include <cstdint>

#include "tests/nvshmem/programs/program.cuh"

constexpr int kThreads = 32;

struct Words {
  int* sum;            // every thread adds 1
  uint64_t* tickets;   // every thread draws one
  unsigned int* bits;  // every PE sets its own
  long* lock;          // taken once by every PE
  float* last;         // swapped by every PE
};

__global__ void change(Words words, unsigned char* drawn, nvshmem_team_t team, int* wrong) {
  const int me = nvshmem_team_my_pe(team);
  const int first = nvshmem_team_translate_pe(team, 0, NVSHMEM_TEAM_WORLD);
  const int members = nvshmem_team_n_pes(team);

  nvshmem_int_atomic_add(words.sum, 1, first);
  const uint64_t ticket = nvshmem_uint64_atomic_fetch_add(words.tickets, 1, first);
  if (ticket >= static_cast<uint64_t>(members) * kThreads || drawn[ticket]++ != 0) {
    atomicAdd(wrong, 1);
  }
  if (threadIdx.x != 0) return;
  nvshmem_uint_atomic_or(words.bits, 1u << me, first);
  while (nvshmem_long_atomic_compare_swap(words.lock, 0, me + 1, first) != 0) {
  }
  const float before = nvshmem_float_atomic_swap(words.last, static_cast<float>(me + 1), first);
  if (before < 0 || before > static_cast<float>(members)) atomicAdd(wrong, 1);
  nvshmem_long_atomic_set(words.lock, 0, first);
  nvshmem_quiet();
}

// The one of both teams that this PE is in.
nvshmem_team_t split(program::Verdict& verdict) {
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  nvshmem_team_t mine = NVSHMEM_TEAM_INVALID;
  for (int parity = 0; parity < 2; ++parity) {
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    const int size = (npes + 1 - parity) / 2;
    if (size == 0) continue;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, parity, 2, size, nullptr, 0, &team);
    verdict.equal("membership", parity, team != NVSHMEM_TEAM_INVALID, mype % 2 == parity);
    if (team != NVSHMEM_TEAM_INVALID) mine = team;
  }
  return mine;
}

void verify(const Words& words, nvshmem_team_t team, program::Verdict& verdict) {
  const int members = nvshmem_team_n_pes(team);
  verdict.equal("size of the team", 0, members, (nvshmem_n_pes() + 1 - nvshmem_my_pe() % 2) / 2);
  if (nvshmem_team_my_pe(team) != 0) return;
  const auto all = static_cast<uint64_t>(members) * kThreads;
  verdict.equal("sum", 0, program::download(words.sum, 1)[0], static_cast<int>(all));
  verdict.equal("tickets", 0, program::download(words.tickets, 1)[0], all);
  verdict.equal("bits", 0, program::download(words.bits, 1)[0], (1u << members) - 1);
  verdict.equal("lock", 0, program::download(words.lock, 1)[0], 0L);
  const float last = program::download(words.last, 1)[0];
  verdict.equal("last is a member", 0, last >= 1 && last <= static_cast<float>(members), true);
}

int main() {
  program::count_gpus();
  int provided = 0;
  if (nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided) != 0) return 1;
  program::take_gpu();
  program::Verdict verdict;
  verdict.equal("thread level", 0, provided >= NVSHMEM_THREAD_SERIALIZED, true);
  verdict.equal("status", 0, nvshmemx_init_status() >= NVSHMEM_STATUS_IS_INITIALIZED, true);

  const nvshmem_team_t team = split(verdict);
  const Words words{program::symmetric<int>(1), program::symmetric<uint64_t>(1),
                    program::symmetric<unsigned int>(1), program::symmetric<long>(1),
                    program::symmetric<float>(1)};
  unsigned char* drawn = program::symmetric<unsigned char>(kThreads * nvshmem_n_pes());
  int* wrong = program::symmetric<int>(1);
  nvshmem_barrier_all();
  change<<<1, kThreads>>>(words, drawn, team, wrong);
  program::check(cudaDeviceSynchronize(), "change");
  nvshmem_barrier(team);

  verify(words, team, verdict);
  verdict.equal("wrong returns", 0, program::download(wrong, 1)[0], 0);
  nvshmem_team_destroy(team);
  for (void* memory : {(void*)words.sum, (void*)words.tickets, (void*)words.bits, (void*)words.lock,
                       (void*)words.last, (void*)drawn, (void*)wrong}) {
    nvshmem_free(memory);
  }
  return verdict.finish();
}
