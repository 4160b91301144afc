// A descriptor that an object keeps open for long, in a program that may not know of it.
//
//   KeptFile file = keep_file(std::move(opened));
//
// It is an ordinary one, closed with its owner, unless a library that is loaded into others'
// programs has set rules for it.
#pragma once

#include <atomic>

#include "core/base/file_descriptor.h"
#include "core/base/handle.h"

namespace gdakit {

struct KeptFileRules {
  // Returns it by the number that it is to have.
  int (*keep)(UniqueFileDescriptor file);
  void (*close)(int file);
};

// Null: there are none. Set before the first file is kept.
inline std::atomic<const KeptFileRules*> kept_file_rules{nullptr};

struct KeptFileTraits {
  using Value = int;
  static Value none() { return -1; }
  static void close(Value file) {
    const KeptFileRules* const rules = kept_file_rules.load();
    rules == nullptr ? FileDescriptorTraits::close(file) : rules->close(file);
  }
};
using KeptFile = UniqueHandle<KeptFileTraits>;

inline KeptFile keep_file(UniqueFileDescriptor file) {
  const KeptFileRules* const rules = kept_file_rules.load();
  if (!file || rules == nullptr) return KeptFile(file.release());
  return KeptFile(rules->keep(std::move(file)));
}

}  // namespace gdakit
