// What there is to be told of the error that broke a send queue.
#pragma once

#include <cstdint>
#include <string>

#include "core/format/cqe.h"

namespace gdakit::mlx5 {

inline constexpr const char* kErrorNotTold =
    "the queue pair is in error; its NIC does not tell by what";
inline const std::string kFirstErrorOverwritten =
    "the queue pair is in error; the first error was overwritten by those of flushed WQEs";

// Whether the CQE, which the NIC may be writing, is of an error.
bool tells_failure(const void* cqe);

// What a send queue's collapsed CQE tells: those of WQEs that were flushed take the first error's
// place.
enum class CqeTells : std::uint8_t { nothing, first_error, flush };
CqeTells what_it_tells(const format::ErrorCqe& cqe);

// Whether the syndrome is of a first error.
bool tells_cause(format::Syndrome syndrome);

// The error in words; of a CQE that tells a first error.
std::string why_by(const format::ErrorCqe& cqe);
// ... as firmware remembers it, where the CQE tells this. That of a send queue which has not failed
// tells nothing: then a peer's request has.
std::string why_by(format::Syndrome syndrome, CqeTells cqe);

}  // namespace gdakit::mlx5
