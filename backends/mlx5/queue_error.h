// What a send queue's collapsed CQE tells of the error that broke the queue.
#pragma once

#include <string>

#include "core/format/cqe.h"

namespace gdakit::mlx5 {

inline constexpr const char* kErrorNotTold =
    "the queue pair is in error; its NIC does not tell by what";

// Whether the CQE, which the NIC may be writing, is of an error.
bool tells_failure(const void* cqe);

// The error in words; kErrorNotTold if the flush of later WQEs has taken its place.
std::string why_by(const format::ErrorCqe& cqe);

}  // namespace gdakit::mlx5
