// What a test of one command does, by its first word.
#include <cstdio>
#include <cstdlib>
#include <cstring>

int number_here();

int main(int count, char** words) {
  const char* const word = count > 1 ? words[1] : "";
  if (std::strcmp(word, "skip") == 0) std::puts("no moon: it is day");
  if (std::strcmp(word, "says") == 0) std::puts("it says so");
  if (std::strcmp(word, "one") == 0) {
    std::FILE* const file = count > 2 ? std::fopen(words[2], "r") : nullptr;
    return file != nullptr && number_here() == 42 ? 0 : 1;
  }
  return std::atoi(word) != 0 ? std::atoi(word) : 1;
}
