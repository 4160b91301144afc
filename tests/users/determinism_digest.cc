// Prints the digest of what a world does, for another process to compare.
#include <cinttypes>
#include <cstdio>

#include "tests/users/digest.h"

int main() { std::printf("%" PRIu64 "\n", gdakit::users::digest()); }
