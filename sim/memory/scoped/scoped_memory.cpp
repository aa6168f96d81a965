#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>

namespace heddle::sim {

scoped_memory::scoped_memory(run_core& core, race_log& races)
    : core_(core),
      known_(core),
      locations_(core),
      races_(core, races, known_),
      learning_(core, known_, races_),
      choice_(core, known_),
      stores_(core, known_, locations_) {}
scoped_memory::~scoped_memory() = default;

void scoped_memory::reset() {
  locations_.reset();
  known_.reset();
  races_.reset();
  choice_.reset();
}

void scoped_memory::take_notes(search_notes* into) {
  notes_ = into;
  if (notes_ != nullptr) notes_->quiet.begin_run();
  races_.take_notes(into);
  stores_.take_notes(into);
}

// Nothing is under way here: a store that has not arrived is one that others need not read yet.
void scoped_memory::let_arrive(lane&) {}
bool scoped_memory::all_arrives(lane&) { return false; }

// Memory of the heap is never handed out twice in a run, and other memory that comes and goes is not looked after here.
void scoped_memory::released(lane&, const void*, size_t) {}

void scoped_memory::fence(lane& self, const operation& how) {
  lane_facts& mine = scoped::facts(self);
  const auto reach = scoped::reach_of(mine, how);
  if (acquires(how.order)) learning_.acquire_pending(self, mine, reach, nullptr);
  if (how.order == memory_order::seq_cst) {
    note_host_fence(self, mine);
    known_.fence_total(self, mine, reach);
  }
  if (releases(how.order)) known_.release_fence(self, mine, reach);
}

// From here on loads find what the lane sees, if that is not what memory holds.
void scoped_memory::open_window(lane& self, lane_facts& mine, std::byte* address, size_t size_bytes, const part& at,
                                int cut) {
  if (mine.window_address == nullptr) {
    mine.window_address = address;
    mine.window_newest.assign(address, address + size_bytes);
    self.unsettled = true;
  }
  scoped::write_bytes(at.in->address, at.mask, value_at(*at.in, cut));
}

}  // namespace heddle::sim
