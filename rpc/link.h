// What the link between a device and its host can do, what a protocol needs of it, and the one line in which a machine refuses what it
// does not have.
//
// Loads and stores of aligned words cross every link, in both directions. That they may be mixed with the host's atomic accesses of the
// same words is more than the standard of libcu++ promises where the link has no atomics; NCCL, NVSHMEM and MSCCL++ stand on it, and so do
// the protocols here.
#pragma once

#include <heddle/rpc/target.h>

#if __STDC_HOSTED__
#include <heddle/rpc/result.h>

#include <string>
#endif

namespace heddle {

/// Properties of a link, or what is wanted of one. The first four are read-modify-writes that a device performs on memory of the host, each
/// as one for both sides. They are the words of the simulator's setting link.rmw: `all` has all of them, `pcie` the first three (PCIe Base
/// Specification, "Atomic Operations"), `split`, `refused` and `dropped` none.
struct link_properties {
  bool add = false;      ///< fetch_add, fetch_sub
  bool swap = false;     ///< exchange
  bool compare = false;  ///< compare_exchange
  bool bits = false;     ///< fetch_or, fetch_and, fetch_max, fetch_min
  bool coherent =
      false;  ///< host code loads from and stores to the device's memory while a kernel runs (try_allocate_mapped)
  /// A kernel that runs sees what the host copies into memory of the device, and a copy sees what it stores there (try_allocate_fine).
  bool fine = false;

  static constexpr link_properties everything() { return {true, true, true, true, true, true}; }
};

/// A protocol says what it needs of a link: `static constexpr link_properties needs`, and in `instead`, what to use on a link without.
template <typename Protocol>
concept needs_of_a_link = requires {
  { Protocol::needs } -> convertible_to<link_properties>;
  { Protocol::name } -> convertible_to<const char*>;
  { Protocol::instead } -> convertible_to<const char*>;
};

#if __STDC_HOSTED__

namespace detail {

/// "add, compare", for those that are wanted and not there.
inline std::string missing_of(const link_properties& has, const link_properties& wants) {
  std::string missing;
  const auto look = [&](bool there, bool wanted, const char* name) {
    if (there || !wanted) return;
    if (!missing.empty()) missing += ", ";
    missing += name;
  };
  look(has.add, wants.add, "an atomic addition");
  look(has.swap, wants.swap, "an atomic exchange");
  look(has.compare, wants.compare, "an atomic compare-and-exchange");
  look(has.bits, wants.bits, "atomic changes of bits");
  look(has.coherent, wants.coherent, "device memory that the host's loads and stores reach");
  look(has.fine, wants.fine, "device memory in which a kernel that runs sees the host's copies");
  return missing;
}

}  // namespace detail

/// Nothing where the link has what `Protocol` needs; otherwise an error that says what is missing, and what does without.
template <needs_of_a_link Protocol>
result<void> check_link(const link_properties& has) {
  const std::string missing = detail::missing_of(has, Protocol::needs);
  if (missing.empty()) return {};
  return error{"link", Protocol::name, "not supported",
               "this device's link has not " + missing + "; " + Protocol::instead};
}
/// The same of a device; an error also where its runtime does not answer.
template <needs_of_a_link Protocol, typename Device>
result<void> check_link_of(Device& device) {
  result<link_properties> has = device.try_link();
  if (!has) return has.why();
  return check_link<Protocol>(has.value());
}

#endif

}  // namespace heddle
