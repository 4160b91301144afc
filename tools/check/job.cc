#include "tools/check/job.h"

#include <algorithm>
#include <utility>

#include "core/host/bootstrap/bootstrap_open.h"
#include "tools/check/agreement.h"
#include "tools/check/packed.h"
#include "tools/check/pairs.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

bool is_wanted(std::string_view step, const std::vector<std::string>& only) {
  return only.empty() || std::ranges::find(only, step) != only.end();
}

StepReport did_not_meet(const Error& error) {
  StepReport report;
  report.step = kPairs;
  report.add({.tried = "the meeting of all PEs over TCP (the bootstrap)",
              .answer = answer_text(error.message(), error.system_code()),
              .cause =
                  "a PE did not start or has ended, PE 0's port is not open between the hosts, "
                  "or its name means another address",
              .proof = "gdakit info",
              .remedy = "GDAKIT_ROOT=address:port of PE 0, the same on every PE; open that port",
              .otherwise = "gdakit check without --job, on each host"});
  return report;
}

Result<std::vector<PeReport>> gather(Bootstrap& bootstrap, const PeReport& mine) {
  const Result<std::vector<Bytes>> all = bootstrap.allgather(pack(mine));
  if (!all) return all.error();
  std::vector<PeReport> reports;
  for (const Bytes& packed : *all) {
    Result<PeReport> report = unpack(packed);
    if (!report) return report.error();
    reports.push_back(std::move(*report));
  }
  return reports;
}

Result<std::vector<PeReport>> check_together(const Surroundings& surroundings, Bootstrap& bootstrap,
                                             PeReport& mine, const std::vector<std::string>& only) {
  if (is_wanted(kPairs, only)) {
    Result<StepReport> pairs = look_at_pairs(surroundings, bootstrap);
    if (!pairs) return pairs.error();
    pairs->step = kPairs;
    mine.steps.push_back(std::move(*pairs));
  }
  Result<std::vector<PeReport>> reports = gather(bootstrap, mine);
  if (!reports) return reports;
  if (is_wanted(kAgreement, only)) reports->front().steps.push_back(look_at_agreement(*reports));
  if (bootstrap.rank() != 0) reports->clear();
  return reports;
}

// As GDAKIT_HCA_LIST names them: a second port by its number.
std::vector<std::string> names_of_nics(const Surroundings& surroundings) {
  const Result<std::vector<mlx5::PlacedNic>> nics = surroundings.nics_of_this_pe();
  std::vector<std::string> names;
  if (!nics) return names;
  for (const mlx5::PlacedNic& nic : *nics) {
    names.push_back(nic.port == 1 ? nic.name : nic.name + ':' + std::to_string(nic.port));
  }
  return names;
}

}  // namespace

std::vector<PeReport> check_job(Surroundings& surroundings, const std::string& host,
                                const std::vector<std::string>& only) {
  Result<std::unique_ptr<Bootstrap>> bootstrap = open_bootstrap(surroundings.options);
  const int rank = bootstrap ? (*bootstrap)->rank() : 0;
  if (bootstrap) surroundings.pes = static_cast<std::uint32_t>((*bootstrap)->size());
  if (bootstrap && !surroundings.options.local_rank) {
    surroundings.options.local_rank = (*bootstrap)->local_rank().value_or(rank);
  }
  PeReport mine{rank, host, run_steps(surroundings, only), names_of_nics(surroundings)};
  if (!bootstrap) {
    mine.steps.push_back(did_not_meet(bootstrap.error()));
    return {std::move(mine)};
  }
  Result<std::vector<PeReport>> reports = check_together(surroundings, **bootstrap, mine, only);
  if (reports) return std::move(*reports);
  std::erase_if(mine.steps, [](const StepReport& step) { return step.step == kPairs; });
  mine.steps.push_back(did_not_meet(reports.error()));
  return {std::move(mine)};
}

}  // namespace gdakit::tools::check
