#include "tools/check/put_trouble.h"

#include <cerrno>

#include "core/base/hex.h"
#include "core/format/cqe.h"

namespace gdakit::tools::check {
namespace {

// What is known of an error.
struct Known {
  const char* cause;
  const char* proof;
  const char* remedy;
};

constexpr Known kNotKnown{"not known", "dmesg | tail", "what the kernel's messages name"};
constexpr Known kLockedMemory{"the limit of locked memory is too low", "ulimit -l",
                              "ulimit -l unlimited; docker run --ulimit memlock=-1; systemd: "
                              "LimitMEMLOCK=infinity"};
constexpr Known kLimits{"the NIC or this function of it has no queue pairs left",
                        "rdma resource show",
                        "end other jobs; fewer queues: "
                        "GDAKIT_QUEUES_PER_PEER=1"};
constexpr Known kNoDc{"an older ConnectX, or a virtual function whose firmware keeps DC from it",
                      "gdakit check --only device", "GDAKIT_QUEUE_TYPE=rc"};
constexpr Known kNoPartition{"the index is beyond the port's table of partition keys",
                             "gdakit check --only port",
                             "an index of the table, or no GDAKIT_PKEY_INDEX"};
constexpr Known kGidGone{
    "the GID's slot is empty: the network interface is down, has moved, or is "
    "in another network namespace",
    "show_gids", "ip link set DEVICE up; host networking for a container"};
constexpr Known kNoRoute{"there is no route from the GID's network interface to the other address",
                         "ip route get ADDRESS",
                         "a route, or addresses of one subnet; restrict the "
                         "job to NICs of one rail: GDAKIT_HCA_LIST"};
constexpr Known kNoWay{
    "the other address does not answer: a GID that is link-local or of the "
    "wrong VLAN, or two rails without a route between them",
    "ping ADDRESS",
    "addresses of RoCE v2 that are routed; or restrict the job "
    "to NICs of one rail: GDAKIT_HCA_LIST"};
constexpr Known kParameters{
    "the two ends do not fit: an MTU above the port's, a GID index out of "
    "range, or a routing header that the port asks for",
    "show_gids; ibv_devinfo", "one MTU on all hosts"};
constexpr Known kProtection{
    "the NIC may not read this memory: in a virtual machine without ATS, "
    "or the memory was unmapped",
    "dmesg | grep -e DMAR -e AMD-Vi -e mlx5",
    "iommu=pt on bare metal; in a virtual machine ATS on the NIC"};
constexpr Known kRetriesLoop{
    "the NIC's packets do not come back to itself: the port went down, or "
    "its GID has no address",
    "gdakit check --only port,gid", "what steps port and gid name"};
constexpr Known kRetriesFar{
    "packets are lost on the way: no route between these two NICs, another "
    "MTU on a switch, a firewall for UDP port 4791, or a lossy class under "
    "load",
    "ping ADDRESS",
    "routes and MTU between the two; else "
    "restrict the job to NICs of one rail: GDAKIT_HCA_LIST"};
constexpr Known kSilent{
    "the doorbell did not reach the NIC, or its completion did not reach "
    "memory",
    "dmesg | grep -e mlx5 -e AER",
    "newer firmware and driver; a cold start of "
    "the host"};
constexpr Known kRepeated{
    "packets were lost or came late between the NIC and itself: a full buffer, a lossy class, or a "
    "link with errors",
    "ethtool -S INTERFACE | grep -e discard -e err; rdma statistic show link",
    "flow control (PFC, or ECN) on the port; another cable, if the link counts errors"};
constexpr Known kWrongData{
    "something between NIC and memory changes or holds back what it writes: "
    "an IOMMU, or memory that is not coherent",
    "gdakit check --only pcie", "what step pcie names"};

const Known& known_of_call(const Error& error) {
  if (error.message().find("limits exceeded") != std::string::npos) return kLimits;
  if (error.message().find("queues of DC on") != std::string::npos) return kNoDc;
  if (error.message().starts_with("GDAKIT_PKEY_INDEX")) return kNoPartition;
  switch (error.system_code()) {
    case ENOMEM: return kLockedMemory;
    case ENODEV: return kGidGone;
    case ENETUNREACH:
    case EHOSTUNREACH: return kNoRoute;
    case ETIMEDOUT: return kNoWay;
    case EINVAL: return kParameters;
    default: return kNotKnown;
  }
}

const Known& known_of_status(unsigned status, bool is_loop) {
  switch (static_cast<format::Syndrome>(status)) {
    case format::Syndrome::local_protection: return kProtection;
    case format::Syndrome::transport_retry_exceeded: return is_loop ? kRetriesLoop : kRetriesFar;
    default: return kNotKnown;
  }
}

std::string size_text(std::uint64_t bytes) {
  return bytes < 1024 ? std::to_string(bytes) + " bytes" : std::to_string(bytes >> 10) + " KiB";
}

// The command, with the other end's address in it.
std::string proof_of(const Known& known, const PutRoute& route) {
  constexpr std::string_view kPlace = "ADDRESS";
  std::string proof = known.proof;
  const std::size_t at = proof.find(kPlace);
  if (at != std::string::npos && !route.address.empty()) {
    proof.replace(at, kPlace.size(), route.address);
  }
  return proof;
}

Finding finding_of(const PutRoute& route, const std::string& tried, const std::string& answer,
                   const Known& known) {
  return {.on = route.on,
          .tried = tried,
          .answer = answer,
          .cause = known.cause,
          .proof = proof_of(known, route),
          .remedy = known.remedy,
          .otherwise = route.otherwise};
}

}  // namespace

Finding refused_call(const PutRoute& route, const std::string& what, const Error& error) {
  return finding_of(route, what, answer_text(error.message(), error.system_code()),
                    known_of_call(error));
}

Finding failed_put(const PutRoute& route, std::uint64_t bytes, const mlx5::PutOutcome& outcome,
                   std::chrono::milliseconds limit) {
  const std::string tried =
      "a put of " + size_text(bytes) + (route.is_loop ? " to itself" : "") + ", posted by the CPU";
  if (outcome.kind == mlx5::PutOutcome::Kind::silent) {
    return finding_of(route, tried,
                      "neither completion nor error within " + std::to_string(limit.count()) +
                          " ms (the NIC itself gives up after 1 to 4 s); " + outcome.said,
                      kSilent);
  }
  const std::string numbers = " (status " + hex_number(outcome.status) + ", vendor's " +
                              hex_number(outcome.vendor_status) + ')';
  return finding_of(route, tried, outcome.said + numbers,
                    known_of_status(outcome.status, route.is_loop));
}

Finding lossy_puts(const PutRoute& route, const std::string& moved) {
  Finding finding = finding_of(route, "what the NIC counts for puts to itself, before and after",
                               moved, kRepeated);
  finding.verdict = Verdict::warning;
  finding.otherwise = "all of it, more slowly";
  return finding;
}

Finding wrong_bytes(const PutRoute& route, std::uint64_t bytes, std::uint64_t wrong) {
  return finding_of(route, "a put of " + size_text(bytes) + ", its bytes compared at the target",
                    "the NIC reports success, and " + std::to_string(wrong) + " of " +
                        std::to_string(bytes) + " bytes are wrong",
                    kWrongData);
}

}  // namespace gdakit::tools::check
