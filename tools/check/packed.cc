#include "tools/check/packed.h"

#include <algorithm>
#include <cstring>

namespace gdakit::tools::check {
namespace {

void pack(Packer& to, const Finding& finding) {
  to.number(static_cast<std::uint32_t>(finding.verdict));
  for (const std::string* text : {&finding.on, &finding.tried, &finding.answer, &finding.cause,
                                  &finding.proof, &finding.remedy, &finding.otherwise}) {
    to.text(*text);
  }
}

Verdict verdict_in(Unpacker& from) {
  const std::uint32_t number = from.number();
  return static_cast<Verdict>(std::min(number, static_cast<std::uint32_t>(Verdict::failed)));
}

Finding finding_in(Unpacker& from) {
  Finding finding;
  finding.verdict = verdict_in(from);
  for (std::string* text : {&finding.on, &finding.tried, &finding.answer, &finding.cause,
                            &finding.proof, &finding.remedy, &finding.otherwise}) {
    *text = from.text();
  }
  return finding;
}

StepReport step_in(Unpacker& from) {
  StepReport step;
  step.step = from.text();
  step.verdict = verdict_in(from);
  step.summary = from.text();
  for (std::uint32_t left = from.count(); left != 0; --left) {
    step.findings.push_back(finding_in(from));
  }
  for (std::uint32_t left = from.count(); left != 0; --left) {
    const std::string name = from.text();
    step.facts[name] = from.text();
  }
  return step;
}

}  // namespace

void Packer::number(std::uint32_t value) {
  const Bytes bytes = to_bytes(&value, 1);
  packed_.insert(packed_.end(), bytes.begin(), bytes.end());
}

void Packer::text(const std::string& value) { bytes(to_bytes(value.data(), value.size())); }

void Packer::bytes(const Bytes& value) {
  number(static_cast<std::uint32_t>(value.size()));
  packed_.insert(packed_.end(), value.begin(), value.end());
}

std::uint32_t Unpacker::number() {
  std::uint32_t value = 0;
  if (packed_.size() - at_ < sizeof value) {
    ok_ = false;
    return 0;
  }
  std::memcpy(&value, packed_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

Bytes Unpacker::bytes() {
  const std::uint32_t size = number();
  if (packed_.size() - at_ < size) {
    ok_ = false;
    return {};
  }
  const auto begin = packed_.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ += size;
  return {begin, begin + size};
}

std::string Unpacker::text() {
  const Bytes part = bytes();
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

std::uint32_t Unpacker::count() {
  const std::uint32_t parts = number();
  if (parts <= (packed_.size() - at_) / sizeof parts) return parts;
  ok_ = false;
  return 0;
}

Bytes pack(const PeReport& report) {
  Packer to;
  to.number(static_cast<std::uint32_t>(report.pe));
  to.text(report.host);
  to.number(static_cast<std::uint32_t>(report.nics.size()));
  for (const std::string& nic : report.nics) to.text(nic);
  to.number(static_cast<std::uint32_t>(report.steps.size()));
  for (const StepReport& step : report.steps) {
    to.text(step.step);
    to.number(static_cast<std::uint32_t>(step.verdict));
    to.text(step.summary);
    to.number(static_cast<std::uint32_t>(step.findings.size()));
    for (const Finding& finding : step.findings) pack(to, finding);
    to.number(static_cast<std::uint32_t>(step.facts.size()));
    for (const auto& [name, value] : step.facts) {
      to.text(name);
      to.text(value);
    }
  }
  return to.take();
}

Result<PeReport> unpack(const Bytes& packed) {
  Unpacker from(packed);
  PeReport report;
  report.pe = static_cast<int>(from.number());
  report.host = from.text();
  for (std::uint32_t left = from.count(); left != 0; --left) report.nics.push_back(from.text());
  for (std::uint32_t left = from.count(); left != 0; --left) report.steps.push_back(step_in(from));
  if (from.ok()) return report;
  return Error(Code::invalid_argument,
               "a PE's report cannot be read; do all PEs run the same version of gdakit?");
}

}  // namespace gdakit::tools::check
