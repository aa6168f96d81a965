// What the lanes of a block share: a barrier and memory of their own.
#include <heddle/sim/run/world.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {

using scheduler::verdict;

namespace {}

uint32_t world::live_lanes_of_block(const wave& of) const {
  const launched_kernel& runs = *of.runs;
  uint32_t live = 0;
  for (uint32_t n = 0; n < runs.waves_per_block; ++n)
    live += waves_[runs.first_wave + size_t{of.block} * runs.waves_per_block + n].live_lanes;
  return live;
}

uint64_t world::block_barrier(lane& self, const operation& how, uint64_t value) {
  wave& of = *self.of;
  finish_plain_store(self);
  self.pending = how;
  // Lanes that are masked off have not come.
  if (of.together != nullptr) yield(self);
  if (!of.stepped) first_step(of);
  const launched_kernel& runs = *of.runs;
  block_state& block = of.runs->state_of(of.block);
  for (uint32_t n = 0; block.at_barrier != 0 && n < runs.waves_per_block; ++n)
    for (const lane* other : waves_[runs.first_wave + size_t{of.block} * runs.waves_per_block + n].lanes)
      if (other->state == lane_state::at_collective && other->pending.kind == operation_kind::block_barrier &&
          other->pending.mask != how.mask)
        end(self, verdict::mask,
            name_of(self) + " comes to a block barrier of another kind than the one at which " + name_of(*other) +
                " waits for it");
  self.result = value;
  remove_candidate(self);
  self.state = lane_state::at_collective;
  ++block.at_barrier;
  if (block.at_barrier == live_lanes_of_block(of)) complete_barrier(of, block);
  if (self.state == lane_state::at_collective) {
    if (records_) recorder_->waits(self, steps_);
    this->block(self);
  }
  performed(self, self.result);
  return self.result;
}

void world::complete_barrier(const wave& of, block_state& block) {
  const launched_kernel& runs = *of.runs;
  std::vector<lane*>& meeting = meeting_;
  meeting.clear();
  uint64_t count = 0;
  for (uint32_t n = 0; n < runs.waves_per_block; ++n)
    for (lane* who : waves_[runs.first_wave + size_t{of.block} * runs.waves_per_block + n].lanes) {
      if (who->state != lane_state::at_collective || who->pending.kind != operation_kind::block_barrier) continue;
      meeting.push_back(who);
      if (who->result != 0) ++count;
    }
  block.at_barrier = 0;
  if (late_ != nullptr) late_->meet(meeting.data(), meeting.size());
  for (lane* who : meeting) {
    who->result = count << 32 | meeting.size();
    add_candidate(*who);
  }
}

// A lane that has ended is not waited for. (PTX ISA, "bar"; CUDA C++ Programming Guide, "Synchronization Functions".)
void world::leave_block(wave& of) {
  if (of.runs->states.empty()) return;
  block_state& block = of.runs->states[of.block];
  if (block.at_barrier != 0 && block.at_barrier == live_lanes_of_block(of)) complete_barrier(of, block);
}

void* world::shared_variable(lane& self, const void* key, size_t size_bytes, const char* name) {
  wave& of = *self.of;
  block_state& block = of.runs->state_of(of.block);
  for (const block_state::variable& known : block.shared)
    if (known.key == key) return known.copy;
  names_.push_back(std::string(name) + " of block " + std::to_string(of.block));
  void* const copy = allocate(self, size_bytes, memory_kind::device, names_.back().c_str(), 0, nullptr, self.pending);
  std::memset(copy, machine_.fill, size_bytes);
  block.shared.push_back({key, copy});
  return copy;
}

grid_position world::position_of(const lane& self) const {
  const launched_kernel& runs = *self.of->runs;
  const grid_shape& shape = runs.shape;
  const uint32_t wave_in_block = self.of->in_kernel % runs.waves_per_block;
  return {.thread = shape.block.at(uint64_t{wave_in_block} * shape.wave_lanes + self.index),
          .block = shape.grid.at(self.of->block),
          .block_size = shape.block,
          .grid_size = shape.grid};
}

uint64_t world::pass_time(lane& self) {
  constexpr uint64_t cycles_per_step = 100;
  constexpr uint32_t most_doublings = 40;
  if (self.clock_reads < most_doublings) ++self.clock_reads;
  clock_ = std::max(clock_, steps_ * cycles_per_step) + (uint64_t{1} << self.clock_reads);
  return clock_;
}

const char* world::numbered_name(const char* kind) {
  for (auto& [known, count] : name_counts_)
    if (known == kind) return names_.emplace_back(known + " " + std::to_string(++count)).c_str();
  name_counts_.emplace_back(kind, 1);
  return names_.emplace_back(std::string(kind) + " 1").c_str();
}

}  // namespace heddle::sim
