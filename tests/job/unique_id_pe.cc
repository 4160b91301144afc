// A PE that gets its id over a channel of its own. `unique_id_pe FILE RANK N_PES`: PE 0 writes the
// id to FILE, the others wait until it is there. With `-` for FILE: PE 0 writes it to stdout, the
// others read it from stdin.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "gdakit.h"

namespace {

using namespace gdakit;
using namespace std::chrono_literals;

void write_id(const UniqueId& id, const std::string& path) {
  const char* const bytes = reinterpret_cast<const char*>(&id);
  if (path == "-") {
    std::cout.write(bytes, sizeof(id)).flush();
    return;
  }
  // Whole or not at all, for those who look.
  std::ofstream(path + ".part", std::ios::binary).write(bytes, sizeof(id));
  std::filesystem::rename(path + ".part", path);
}

UniqueId read_id(const std::string& path) {
  UniqueId id{};
  char* const bytes = reinterpret_cast<char*>(&id);
  if (path == "-") {
    std::cin.read(bytes, sizeof(id));
    return id;
  }
  for (int i = 0; i < 1000 && !std::filesystem::exists(path); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  std::ifstream(path, std::ios::binary).read(bytes, sizeof(id));
  return id;
}

Result<void> run(const std::string& path, int rank, int n_pes) {
  const Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  UniqueId id{};
  if (rank == 0) {
    const Result<UniqueId> made = make_unique_id(*options);
    if (!made) return made.error();
    id = *made;
    write_id(id, path);
  } else {
    id = read_id(path);
  }
  auto context = init(*options, id, rank, n_pes);
  if (!context) return context.error();
  const auto ranks = allgather_value((*context)->bootstrap(), (*context)->my_pe());
  if (!ranks) return ranks.error();
  // In one piece: the PEs share their stderr, and std::cerr writes each operand by itself.
  std::fprintf(stderr, "PE %d of %zu\n", ranks->at(static_cast<std::size_t>(rank)), ranks->size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Result<void> done = run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  if (!done) std::cerr << "error: " << done.error().message() << '\n';
  return done ? 0 : 1;
}
