#include "core/host/bootstrap/job_proof.h"

#include <sodium.h>

#include "core/base/sodium_begin.h"

namespace gdakit {

static_assert(sizeof(JobSecret) >= crypto_generichash_KEYBYTES_MIN);
static_assert(sizeof(tcp_wire::Proof) == crypto_generichash_BYTES);
static_assert(sizeof(JobKey) == crypto_generichash_KEYBYTES);

tcp_wire::Nonce make_nonce() {
  begin_sodium();
  tcp_wire::Nonce nonce;
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

tcp_wire::Proof make_proof(const JobSecret& secret, ProofRole role, const tcp_wire::Hello& hello,
                           const tcp_wire::Nonce& hubs_nonce) {
  begin_sodium();
  crypto_generichash_state state;
  tcp_wire::Proof proof;
  const auto add = [&](const void* bytes, std::size_t size) {
    ::crypto_generichash_update(&state, static_cast<const unsigned char*>(bytes), size);
  };
  ::crypto_generichash_init(&state, secret.data(), secret.size(), proof.size());
  const std::uint8_t who = role == ProofRole::hub ? 1 : 0;
  add(&who, sizeof who);
  add(&hello, sizeof hello);
  add(hubs_nonce.data(), hubs_nonce.size());
  ::crypto_generichash_final(&state, proof.data(), proof.size());
  return proof;
}

bool is_same(const tcp_wire::Proof& left, const tcp_wire::Proof& right) {
  return ::sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

JobKey make_job_key(const JobSecret& secret, std::string_view label) {
  begin_sodium();
  JobKey key;
  ::crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(label.data()),
                       label.size(), secret.data(), secret.size());
  return key;
}

}  // namespace gdakit
