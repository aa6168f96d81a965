#include <heddle/sim/launch/bulk_copies.h>

#include <cstring>
#include <string>

namespace heddle::sim {
namespace {
constexpr const char* untold =
    "copies beside a lane (cp.async.bulk, cp.async of C++): what they wait for is no part of a state";
}  // namespace

uint32_t bulk_copies::issue(lane& self, const bulk_copy& what, const fiber_body& how_to_run) {
  core_.check_host_stacks(self);
  wave& fresh = core_.new_wave();
  const wave& by = *self.of;
  fresh.host = fresh.copies = fresh.bulk = fresh.by_gpu = true;
  fresh.kernel = by.kernel;
  fresh.runs = by.runs;
  fresh.block = by.block;
  fresh.gpu = by.gpu;
  fresh.device = by.device;
  fresh.issuer = self.id;
  fresh.async = what.async;
  fresh.group = what.async ? what.group : self.bulk_groups;
  fresh.name = (what.async ? "asynchronous copy " : "bulk copy ") + std::to_string(++issued_) + " of " + name_of(self);
  fresh.live_lanes = 1;
  fresh.resident = true;
  lane& performs = core_.new_lane(fresh, 0);
  performs.how_to_run = &how_to_run;
  if (core_.late != nullptr) {
    core_.late->begins(performs, nullptr);
    core_.late->order(self, performs);
  }
  core_.begin(performs);
  std::memcpy(performs.body, &what, sizeof what);
  ++by.runs->bulk_copies;
  if (what.complete == nullptr || what.async) in_groups_.push_back(fresh.id);
  leave_out_of_proofs();
  core_.enabled.fair.live(fresh);
  core_.enable(performs);
  return issued_;
}

// Of a wave with one program counter, all lanes wait where one does.
std::vector<uint32_t> bulk_copies::of_groups_below(const lane& issuer, uint32_t groups, bool async) const {
  const auto is_by = [&](uint32_t id) {
    return id == issuer.id || (issuer.of->together != nullptr && core_.threads.lanes[id].of == issuer.of);
  };
  std::vector<uint32_t> found;
  for (const uint32_t id : in_groups_)
    if (const wave& one = core_.threads.waves[id]; one.async == async && is_by(one.issuer) && one.group < groups)
      found.push_back(id);
  return found;
}

bool bulk_copies::block_is_live(const wave& of) const {
  const launched_kernel& runs = *of.runs;
  const size_t first = runs.first_wave + size_t{of.block} * runs.waves_per_block;
  for (size_t n = 0; n < runs.waves_per_block; ++n)
    if (core_.threads.waves[first + n].live()) return true;
  return false;
}

void* bulk_copies::memory_of(const lane& self, const void* key, size_t size_bytes) {
  for (size_t n = 0; n < memory_used_; ++n)
    if (memory_[n].lane == self.id && memory_[n].key == key) return memory_[n].bytes.data();
  if (memory_used_ == memory_.size()) memory_.emplace_back();
  lane_memory& fresh = memory_[memory_used_++];
  fresh.lane = self.id;
  fresh.key = key;
  fresh.bytes.assign(size_bytes, std::byte{});
  return fresh.bytes.data();
}

void bulk_copies::leave_out_of_proofs() {
  if (core_.notes != nullptr) core_.notes->untold = untold;
}

void bulk_copies::visit_state(state_reader& to) const {
  for (size_t n = 0; n < memory_used_; ++n) {
    to.fact(memory_[n].lane);
    to.fact(reinterpret_cast<uintptr_t>(memory_[n].key));
    to.bytes(memory_[n].bytes.data(), memory_[n].bytes.size());
  }
}

bool bulk_copies::has_ended(lane& copies) {
  launched_kernel& runs = *copies.of->runs;
  --runs.bulk_copies;
  return runs.has_ended();
}

}  // namespace heddle::sim
