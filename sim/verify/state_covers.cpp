#include <heddle/sim/verify/state_covers.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::sim {

uint32_t state_covers::shared_number_of(uint64_t name) {
  const shared_lock::holder held(shared_->locked);
  const size_t mask = names_.most() - 1;
  size_t place = name & mask;
  while (names_[place].number != 0 && names_[place].name != name) place = (place + 1) & mask;
  name_slot& slot = names_[place];
  if (slot.number != 0) return slot.number;
  if (4 * size_t{shared_->names} > 3 * names_.most()) return 0;
  slot.name = name;
  return slot.number = ++shared_->names;
}

bool state_covers::translate(const state_key& common, const known_facts& known) {
  const size_t knowers = known.knowers();
  const size_t row = row_words(knowers);
  fresh_.assign(head_words + knowers + known.facts() * (1 + row), 0);
  new (fresh_.data()) record{
      .common = common, .knowers = static_cast<uint32_t>(knowers), .facts = static_cast<uint32_t>(known.facts())};
  const auto sort_by_number = [&](size_t count, const auto& name_of) {
    order_.clear();
    for (size_t n = 0; n < count; ++n) order_.emplace_back(number_of(name_of(n)), static_cast<uint32_t>(n));
    std::sort(order_.begin(), order_.end());
    return order_.empty() || order_.front().first != 0;
  };
  if (!sort_by_number(knowers, [&](size_t n) { return known.knower_name(n); })) return false;
  uint32_t* to = fresh_.data() + head_words;
  for (const auto& [number, n] : order_) *to++ = number;
  same_.clear();
  for (const auto& [number, n] : order_) same_.push_back(n);
  if (!sort_by_number(known.facts(), [&](size_t n) { return known.fact_name(n); })) return false;
  for (const auto& [number, n] : order_) {
    *to++ = number << 1 | (known.all_know(n) ? 1u : 0u);
    for (size_t by = 0; by < knowers; ++by)
      if (known.knows(same_[by], n)) to[by / 32] |= uint32_t{1} << by % 32;
    to += row;
  }
  return true;
}

bool state_covers::stands_for(const record& less, const record& more) {
  const bool alike = less.knowers == more.knowers &&
                     std::memcmp(knowers_of(less), knowers_of(more), less.knowers * sizeof(uint32_t)) == 0;
  if (!alike) {
    same_.clear();
    for (uint32_t n = 0, there = 0; n < less.knowers; ++n) {
      const uint32_t number = knowers_of(less)[n];
      while (there < more.knowers && knowers_of(more)[there] < number) ++there;
      same_.push_back(there < more.knowers && knowers_of(more)[there] == number ? there : none);
    }
  }
  const auto knows_no_more = [&](const uint32_t* mine, const uint32_t* theirs) {
    if (alike) {
      for (size_t word = 0; word < row_words(less.knowers); ++word)
        if ((mine[word] & ~theirs[word]) != 0) return false;
      return true;
    }
    for (uint32_t n = 0; n < less.knowers; ++n)
      if ((mine[n / 32] >> n % 32 & 1) != 0 && (same_[n] == none || (theirs[same_[n] / 32] >> same_[n] % 32 & 1) == 0))
        return false;
    return true;
  };
  for (uint32_t there = 0, here = 0; there < more.facts; ++there) {
    const uint32_t* const theirs = fact_of(more, there);
    // What all know there may be known to all here, and no fact any more.
    if ((*theirs & 1) != 0) continue;
    const uint32_t number = *theirs >> 1;
    while (here < less.facts && *fact_of(less, here) >> 1 < number) ++here;
    if (here == less.facts || *fact_of(less, here) >> 1 != number) return false;
    if (!knows_no_more(fact_of(less, here) + 1, theirs + 1)) return false;
  }
  return true;
}

uint32_t state_covers::covering(const state_key& common, const known_facts& known) {
  is_fresh_ = translate(common, known);
  if (!is_fresh_) return none;
  const shared_lock::holder held(shared_->locked);
  for (uint32_t place = head_of(common); place != 0;) {
    const record& one = at(place - 1);
    if (one.common == common && stands_for(one, fresh())) return one.state;
    place = one.next;
  }
  return none;
}

void state_covers::add(const state_key& common, const known_facts& known, uint32_t state) {
  is_fresh_ = false;
  if (!translate(common, known)) return;
  const shared_lock::holder held(shared_->locked);
  keep(state);
}

void state_covers::add_asked(uint32_t state) {
  const shared_lock::holder held(shared_->locked);
  if (is_fresh_) keep(state);
}

void state_covers::keep(uint32_t state) {
  const state_key common = fresh().common;
  if (shared_->records >> shared_->heads_log2 != 0) grow();
  uint32_t* link = &head_of(common);
  while (*link != 0) {
    record& one = at(*link - 1);
    if (one.common == common && stands_for(fresh(), one)) {
      one.state = none;
      *link = one.next;
    } else {
      link = &one.next;
    }
  }
  const uint64_t begin = shared_->words;
  // Records are aligned as their keys are.
  const uint64_t end = begin + (fresh_.size() + 1) / 2 * 2;
  if (end > words_.most() || end > none) return;
  fresh().state = state;
  uint32_t& head = head_of(common);
  fresh().next = head;
  std::memcpy(&words_[begin], fresh_.data(), fresh_.size() * sizeof(uint32_t));
  head = static_cast<uint32_t>(begin) + 1;
  shared_->words = end;
  ++shared_->records;
}

void state_covers::grow() {
  ++shared_->heads_log2;
  std::memset(&heads_[size_t{1} << shared_->heads_log2], 0, sizeof(uint32_t) << shared_->heads_log2);
  link_all();
}

void state_covers::link_all() {
  for (uint64_t place = 0; place < shared_->words;) {
    record& one = at(place);
    if (one.state != none) {
      uint32_t& head = head_of(one.common);
      one.next = head;
      head = static_cast<uint32_t>(place) + 1;
    }
    place += (words_of(one) + 1) / 2 * 2;
  }
}

void state_covers::save(bytes_out& to) const {
  std::vector<uint64_t> names(shared_->names);
  for (size_t n = 0; n < names_.most() && !names.empty(); ++n)
    if (names_[n].number != 0) names[names_[n].number - 1] = names_[n].name;
  to.all(names);
  for (const uint64_t each : {uint64_t{shared_->heads_log2}, shared_->records, shared_->words}) to.number(each);
  to.put(&words_[0], shared_->words * sizeof(uint32_t));
}

bool state_covers::load(bytes_in& from, uint32_t states) {
  std::vector<uint64_t> names;
  uint64_t heads_log2 = 0;
  uint64_t words = 0;
  const bool fits = from.all(names) && from.number(heads_log2) && from.number(shared_->records) && from.number(words) &&
                    heads_log2 >= fewest_heads_log2 && heads_log2 < 64 && size_t{2} << heads_log2 <= heads_.most() &&
                    words <= words_.most() && words < none && from.take(&words_[0], words * sizeof(uint32_t));
  if (!fits) return false;
  for (size_t n = 0; n < names.size(); ++n)
    if (number_of(names[n]) != n + 1) return false;
  shared_->heads_log2 = static_cast<uint32_t>(heads_log2);
  shared_->words = words;
  if (!is_whole(states)) return false;
  link_all();
  return true;
}

/// Whether the words are records of these states, one behind the other.
bool state_covers::is_whole(uint32_t states) {
  for (uint64_t place = 0; place < shared_->words;) {
    if (shared_->words - place < head_words) return false;
    const record& one = at(place);
    const uint64_t most = shared_->words - place;
    if ((one.state != none && one.state >= states) || one.knowers > most || one.facts > most) return false;
    const uint64_t words = head_words + one.knowers + uint64_t{one.facts} * fact_words(one);
    if (words > most) return false;
    place += (words + 1) / 2 * 2;
    if (place > shared_->words) return false;
  }
  return true;
}

void state_covers::clear() {
  is_fresh_ = false;
  for (uint32_t log2 = fewest_heads_log2; log2 <= shared_->heads_log2; ++log2)
    std::memset(&heads_[size_t{1} << log2], 0, sizeof(uint32_t) << log2);
  for (size_t n = 0; shared_->names != 0 && n < names_.most(); ++n)
    if (names_[n].number != 0) names_[n] = name_slot();
  std::fill(seen_names_.begin(), seen_names_.end(), name_slot());
  shared_->heads_log2 = fewest_heads_log2;
  shared_->names = 0;
  shared_->words = shared_->records = 0;
}

}  // namespace heddle::sim
