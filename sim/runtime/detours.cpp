// What a run assumes behind a call, before the code under test goes on there.
#include <heddle/sim/machine/detour.h>
#include <heddle/sim/run/assumptions.h>
#include <heddle/sim/runtime/entry.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace runtime = heddle::sim::runtime;
using heddle::sim::lane;
using heddle::sim::local_integer;
using heddle::sim::operation;
using heddle::sim::operation_kind;
using heddle::sim::returned_registers;

namespace {

/// Where the variable is now.
std::byte* place_of(const local_integer& variable, returned_registers& at) {
  if (variable.kept == local_integer::kept_in::frame) return reinterpret_cast<std::byte*>(at.rbp) + variable.offset;
  constexpr uint32_t rbx = 3, r15 = 15;  // as DWARF counts
  return reinterpret_cast<std::byte*>(variable.register_number == rbx ? &at.preserved[4]
                                                                      : &at.preserved[r15 - variable.register_number]);
}

/// All of a register: of a shorter variable the code may know what lies above it.
size_t bytes_of(const local_integer& variable) {
  return variable.kept == local_integer::kept_in::frame ? variable.size_bytes : sizeof(uint64_t);
}

/// The lanes that were together in the call: what a collective was given, or the mask that the call has returned.
uint64_t met_in(const lane& self, const returned_registers& at) {
  return self.pending.kind == operation_kind::active_mask ? at.rax : self.assumed.met;
}

uint64_t broadcast(lane& self, uint64_t mask, uint64_t value, const runtime::caller& from) {
  operation how = runtime::make_operation(operation_kind::broadcast, nullptr, 0, from);
  how.mask = mask;
  const runtime::hidden_operands hidden(self, value);
  self.assumed.is_adding = true;
  const uint64_t shared = heddle::sim::execution::instance->collective(self, how, value);
  self.assumed.is_adding = false;
  return shared;
}

}  // namespace

void heddle_take_detour(returned_registers* registers) {
  lane& self = *heddle::sim::execution::current;
  const runtime::entered inside(self);
  const void* const place = std::exchange(self.assumed.returns_to, nullptr);
  registers->returns_to = place;
  const runtime::caller from = {.place = place,
                                .frame = reinterpret_cast<void* const*>(&registers->rbp),
                                .private_state = reinterpret_cast<const std::byte*>(&registers->rax)};
  const std::string& name = self.assumed.shares->shares;
  std::string others;
  const local_integer* const variable = heddle::sim::execution::instance->assumed().integer_at(place, name, &others);
  const uint64_t mask = met_in(self, *registers);
  std::string why;
  if (variable == nullptr)
    why = "no integer of that name has a register or a place in the frame behind this call" +
          (others.empty() ? std::string() : "; these have: " + others);
  else if ((mask & lane_bit(self)) == 0)
    why = "the call does not return the mask of the lanes that met in it";
  if (!why.empty())
    runtime::refuse(self, heddle::scheduler::verdict::unsupported, "after:broadcast." + name + ": " + why, from);
  std::byte* const at = place_of(*variable, *registers);
  uint64_t value = 0;
  std::memcpy(&value, at, bytes_of(*variable));
  value = broadcast(self, mask, value, from);
  std::memcpy(at, &value, bytes_of(*variable));
}
