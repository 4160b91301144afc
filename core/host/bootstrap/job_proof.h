// How the two ends of a bootstrap's connection show each other that they know the job's secret,
// which itself is never sent: a hash of what both have said, keyed with the secret.
//
// Each end brings random bytes of its own, so that what was overheard once proves nothing later.
// Role is part of what is hashed, so that one's proof cannot be sent back to it.
#pragma once

#include <string_view>

#include "core/host/bootstrap/bootstrap.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "core/host/launch/launch_info.h"

namespace gdakit {

enum class ProofRole { member, hub };

tcp_wire::Nonce make_nonce();

// BLAKE2b (RFC 7693) with the secret as its key, by libsodium.
tcp_wire::Proof make_proof(const JobSecret& secret, ProofRole role, const tcp_wire::Hello& hello,
                           const tcp_wire::Nonce& hubs_nonce);

// Whether they are equal; takes the same time wherever they differ.
bool is_same(const tcp_wire::Proof& left, const tcp_wire::Proof& right);

// A key for one use alone, which its label, a text, names. It tells nothing of the secret, of other
// labels' keys, or of proofs: what those hash begins with a byte of 0 or 1, as no text does.
JobKey make_job_key(const JobSecret& secret, std::string_view label);

}  // namespace gdakit
