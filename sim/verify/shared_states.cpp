#include <heddle/sim/verify/shared_states.h>

namespace heddle::sim {
namespace {

constexpr size_t answers_a_state = 64;
constexpr size_t steps_a_state = 16;
constexpr size_t most_work_bytes = size_t{1} << 26;
constexpr size_t most_left_behind_bytes = size_t{1} << 32;

}  // namespace

// A limit on address space (ulimit -v) leaves less.
size_t shared_states::room_there_is() {
  for (size_t most = size_t{1} << 30; most > 1024; most /= 4) {
    const size_t bytes = most * (sizeof(state) + answers_a_state + steps_a_state * sizeof(state_graph::step) + 16 +
                                 state_covers::bytes_a_state + shared_ways::bytes_a_state);
    void* const tried = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tried == MAP_FAILED) continue;
    munmap(tried, bytes);
    return most;
  }
  throw std::bad_alloc();
}

shared_states::shared_states(uint32_t processes, size_t most)
    : header_(1),
      states_(most),
      slots_(std::max(size_t{4} * most, size_t{4} << fewest_slots_log2)),
      answers_(most * answers_a_state),
      steps_(most * steps_a_state),
      covers_(most),
      ways_of_diamonds_(most),
      work_(most_work_bytes),
      left_behind_(std::min(most_left_behind_bytes, most * sizeof(state))) {
  shared_->processes = processes;
  shared_->slots_log2 = fewest_slots_log2;
}

void shared_states::clear() {
  for (uint32_t log2 = fewest_slots_log2; log2 <= shared_->slots_log2; ++log2)
    std::memset(&slots_[size_t{1} << log2], 0, sizeof(uint32_t) << log2);
  shared_->slots_log2 = fewest_slots_log2;
  shared_->states = 0;
  shared_->answers = shared_->steps = shared_->left_behind = 0;
  shared_->ways = 0;
  shared_->over = false;
  shared_->idle = 0;
  shared_->work_bytes = 0;
  covers_.clear();
  ways_of_diamonds_.clear();
}

uint32_t& shared_states::slot_of(const state_key& key) {
  const size_t mask = (size_t{1} << shared_->slots_log2) - 1;
  uint32_t* const first = &slots_[mask + 1];
  size_t place = key.low & mask;
  while (first[place] != 0 && !(states_[first[place] - 1].key == key)) place = (place + 1) & mask;
  return first[place];
}

void shared_states::grow() {
  std::memset(&slots_[size_t{1} << shared_->slots_log2], 0, sizeof(uint32_t) << shared_->slots_log2);
  ++shared_->slots_log2;
  number_all();
}

void shared_states::number_all() {
  for (uint32_t n = 0; n < count(); ++n) slot_of(states_[n].key) = n + 1;
}

void shared_states::save(bytes_out& to) const {
  for (const uint64_t each : {uint64_t{count()}, shared_->answers, shared_->steps, ways(), runs()}) to.number(each);
  to.put(&states_[0], count() * sizeof(state));
  to.put(&answers_[0], shared_->answers);
  to.put(&steps_[0], shared_->steps * sizeof(state_graph::step));
  covers_.save(to);
}

bool shared_states::load(bytes_in& from) {
  clear();
  uint64_t states = 0;
  uint64_t ways = 0;
  uint64_t runs = 0;
  const bool told = from.number(states) && from.number(shared_->answers) && from.number(shared_->steps) &&
                    from.number(ways) && from.number(runs);
  const bool fits = told && states < states_.most() && shared_->answers <= answers_.most() &&
                    shared_->steps <= steps_.most() && from.take(&states_[0], states * sizeof(state)) &&
                    from.take(&answers_[0], shared_->answers) &&
                    from.take(&steps_[0], shared_->steps * sizeof(state_graph::step));
  if (!fits) return false;
  shared_->states = static_cast<uint32_t>(states);
  shared_->ways = ways;
  shared_->runs = runs;
  if (!is_whole()) return false;
  while (4 * states > size_t{3} << shared_->slots_log2) ++shared_->slots_log2;
  number_all();
  return covers_.load(from, count());
}

/// Whether all that states and steps refer to is there.
bool shared_states::is_whole() const {
  for (uint32_t n = 0; n < count(); ++n) {
    const state& each = states_[n];
    const bool leads_back = each.from == none || each.from < n;
    if (!leads_back || each.answers_begin > shared_->answers || each.answers > shared_->answers - each.answers_begin)
      return false;
  }
  for (uint64_t n = 0; n < shared_->steps; ++n)
    if (steps_[n].from >= count() || steps_[n].to >= count()) return false;
  return true;
}

shared_states::found shared_states::add(const state& seen, const std::vector<uint8_t>& answers) {
  const shared_lock::holder held(shared_->locked);
  const uint32_t known = count();
  if (4 * (size_t{known} + 1) > size_t{3} << shared_->slots_log2) grow();
  uint32_t& slot = slot_of(seen.key);
  if (slot != 0) return {slot - 1, false};
  if (known + size_t{1} >= states_.most() || shared_->answers + answers.size() > answers_.most()) return {};
  state& kept = states_[known] = seen;
  kept.answers_begin = shared_->answers;
  kept.answers = static_cast<uint32_t>(answers.size());
  std::copy(answers.begin(), answers.end(), &answers_[shared_->answers]);
  shared_->answers += answers.size();
  slot = known + 1;
  shared_->states.store(known + 1, std::memory_order_relaxed);
  return {known, true};
}

void shared_states::add_way(const state_graph::step* step) {
  shared_->ways.fetch_add(1, std::memory_order_relaxed);
  if (step == nullptr) return;
  const shared_lock::holder held(shared_->locked);
  if (shared_->steps == steps_.most()) throw std::bad_alloc();
  steps_[shared_->steps++] = *step;
}

std::vector<uint8_t> shared_states::answers_to(uint32_t number) const {
  std::vector<uint32_t> chain;
  for (uint32_t at = number; at != none; at = states_[at].from) chain.push_back(at);
  std::vector<uint8_t> made;
  for (size_t n = chain.size(); n > 0; --n) {
    const state& part = states_[chain[n - 1]];
    made.insert(made.end(), &answers_[part.answers_begin], &answers_[part.answers_begin] + part.answers);
  }
  return made;
}

state_graph shared_states::graph() const {
  state_graph made;
  made.states.reserve(count());
  for (uint32_t n = 0; n < count(); ++n) made.states.push_back({.owed = states_[n].owed, .start = states_[n].start});
  made.steps.assign(&steps_[0], &steps_[0] + shared_->steps);
  return made;
}

bool shared_states::put_work(const void* bytes, size_t size_bytes) {
  const shared_lock::holder held(shared_->locked);
  if (shared_->work_bytes.load(std::memory_order_relaxed) != 0 || size_bytes > work_.most()) return false;
  std::memcpy(&work_[0], bytes, size_bytes);
  shared_->work_bytes.store(size_bytes, std::memory_order_relaxed);
  return true;
}

void shared_states::leave_behind(const void* bytes, size_t size_bytes) {
  const shared_lock::holder held(shared_->locked);
  if (shared_->left_behind + sizeof size_bytes + size_bytes > left_behind_.most()) throw std::bad_alloc();
  std::memcpy(&left_behind_[shared_->left_behind], &size_bytes, sizeof size_bytes);
  if (size_bytes != 0) std::memcpy(&left_behind_[shared_->left_behind + sizeof size_bytes], bytes, size_bytes);
  shared_->left_behind += sizeof size_bytes + size_bytes;
}

}  // namespace heddle::sim
