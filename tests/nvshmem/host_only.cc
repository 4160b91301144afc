// host_only: a job of a launcher. host_only --rank R --size N --id-file FILE: one that meets by a
// unique id, which PE 0 writes to FILE.
#include "tests/nvshmem/host_only.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace {

void write_id(const nvshmemx_uniqueid_t& id, const std::filesystem::path& file) {
  // Whole or not at all, for those who look.
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream(part, std::ios::binary).write(reinterpret_cast<const char*>(&id), sizeof(id));
  std::filesystem::rename(part, file);
}

void read_id(nvshmemx_uniqueid_t& id, const std::filesystem::path& file) {
  for (int i = 0; i < 1000 && !std::filesystem::exists(file); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&id), sizeof(id));
}

bool start_by_id(int rank, int size, const std::filesystem::path& file) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (rank == 0) {
    if (nvshmemx_get_uniqueid(&id) != 0) return false;
    write_id(id, file);
  } else {
    read_id(id, file);
  }
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  return nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes) == 0 &&
         nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7) {
    if (!start_by_id(std::atoi(argv[2]), std::atoi(argv[4]), argv[6])) return 1;
  } else {
    nvshmem_init();
  }
  const bool good = host_only::go_round();
  nvshmem_finalize();
  return good ? 0 : 1;
}
