// The fields of a queue pair that modify_qp sets, and sets of them.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace gdakit::softnic {

// By the names of QpModify's members, and of those of its path.
enum class QpField : std::uint8_t {
  access,
  pkey,
  qkey,
  path,  // its endpoint, service level and traffic class
  path_mtu,
  remote_qpn,
  next_receive_psn,
  log_rra_max,
  min_rnr_nak,
  log_msg_max,
  next_send_psn,
  log_sra_max,
  ack_timeout,
  retry_count,
  rnr_retry,
  send_wqebb_counter,
};

class QpFields {
 public:
  constexpr QpFields() = default;
  constexpr QpFields(std::initializer_list<QpField> fields) {
    for (const QpField field : fields) bits_ |= bit(field);
  }
  static constexpr QpFields of_bits(std::uint32_t bits) {
    QpFields fields;
    fields.bits_ = bits;
    return fields;
  }

  static constexpr QpFields all() { return of_bits(~std::uint32_t{0}); }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(QpField field) const { return (bits_ & bit(field)) != 0; }
  // The first one of some. It may be none that exists, if of_bits() was given such a bit.
  constexpr QpField first() const { return static_cast<QpField>(std::countr_zero(bits_)); }
  constexpr QpFields without(QpFields others) const { return of_bits(bits_ & ~others.bits_); }
  friend constexpr QpFields operator|(QpFields a, QpFields b) { return of_bits(a.bits_ | b.bits_); }

 private:
  static constexpr std::uint32_t bit(QpField field) {
    return std::uint32_t{1} << static_cast<unsigned>(field);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace gdakit::softnic
