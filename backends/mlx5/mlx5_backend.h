// The backend of real ConnectX NICs; on soft ones it runs under `gdakit verbs`.
#pragma once

#include <memory>

#include "core/host/backend.h"

namespace gdakit::mlx5 {

std::unique_ptr<BackendProvider> make_provider();

}  // namespace gdakit::mlx5
