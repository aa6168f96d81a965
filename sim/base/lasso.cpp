#include <heddle/sim/base/lasso.h>

#include <algorithm>

// Reads stacks of other fibers, parts of which AddressSanitizer has poisoned.
#if defined(__GNUC__)
#define HEDDLE_AS_IT_IS __attribute__((no_sanitize("address"), noinline))
#else
#define HEDDLE_AS_IT_IS
#endif

namespace heddle::sim {
namespace {

constexpr size_t included_most = 4096;

// Of any bytes, wherever they begin.
using word [[gnu::aligned(1), gnu::may_alias]] = uint64_t;

HEDDLE_AS_IT_IS void copy_bytes(std::byte* to, const void* from, size_t size_bytes) {
  const auto* read = static_cast<const std::byte*>(from);
  for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word), read += sizeof(word), to += sizeof(word))
    *reinterpret_cast<volatile word*>(to) = *reinterpret_cast<const volatile word*>(read);
  for (; size_bytes != 0; --size_bytes)
    *static_cast<volatile std::byte*>(to++) = *static_cast<const volatile std::byte*>(read++);
}

/// How many bytes are equal from the first on.
HEDDLE_AS_IT_IS size_t equal_bytes(const void* one, const std::byte* other, size_t size_bytes) {
  const auto* read = static_cast<const std::byte*>(one);
  size_t done = 0;
  for (; size_bytes - done >= sizeof(word); done += sizeof(word))
    if (*reinterpret_cast<const volatile word*>(read + done) != *reinterpret_cast<const volatile word*>(other + done))
      break;
  for (; done < size_bytes; ++done)
    if (*static_cast<const volatile std::byte*>(read + done) != other[done]) break;
  return done;
}

HEDDLE_AS_IT_IS std::byte byte_at(const std::byte* at) { return *static_cast<const volatile std::byte*>(at); }

constexpr size_t whole_words(size_t size_bytes) {
  return (size_bytes + sizeof(word) - 1) / sizeof(word) * sizeof(word);
}

}  // namespace

class lasso::copier final : public state_reader {
 public:
  explicit copier(lasso& into) : into_(into) {
    into_.facts_.clear();
    into_.pieces_.clear();
    into_.copy_.clear();
  }
  bool fact(uint64_t value) override {
    into_.facts_.push_back(value);
    return true;
  }
  bool bytes(const void* at, size_t size_bytes) override {
    const size_t offset = into_.copy_.size();
    if (size_bytes > state_bytes_most - std::min(offset, state_bytes_most)) return false;
    into_.pieces_.push_back({at, size_bytes});
    into_.copy_.resize(offset + whole_words(size_bytes));
    copy_bytes(into_.copy_.data() + offset, at, size_bytes);
    into_.work_bytes_ += size_bytes;
    return true;
  }

 private:
  lasso& into_;
};

class lasso::comparer final : public state_reader {
 public:
  explicit comparer(lasso& with) : with_(with) {}
  bool fact(uint64_t value) override {
    if (facts_ == with_.facts_.size()) return false;
    return with_.facts_[facts_++] == value;
  }
  bool bytes(const void* at, size_t size_bytes) override {
    if (pieces_ == with_.pieces_.size()) return false;
    const piece& known = with_.pieces_[pieces_++];
    if (known.at != at || known.size_bytes != size_bytes) return false;
    const size_t equal = equal_bytes(at, with_.copy_.data() + offset_, size_bytes);
    with_.work_bytes_ += equal;
    if (equal != size_bytes) {
      with_.differed_at_ = static_cast<const std::byte*>(at) + equal;
      with_.differed_in_copy_ = offset_ + equal;
      return false;
    }
    offset_ += whole_words(size_bytes);
    return true;
  }
  bool complete() const { return facts_ == with_.facts_.size() && pieces_ == with_.pieces_.size(); }

 private:
  lasso& with_;
  size_t facts_ = 0;
  size_t pieces_ = 0;
  size_t offset_ = 0;
};

bool lasso::tell_included(state_reader& to) const {
  return std::all_of(included_.begin(), included_.end(), [&](const piece& each) {
    return tell_but_counts(to, static_cast<const std::byte*>(each.at), each.size_bytes);
  });
}

bool lasso::equals(const teller& tell) {
  if (differed_at_ != nullptr && byte_at(differed_at_) != copy_[differed_in_copy_]) return false;
  comparer reading(*this);
  return tell(reading) && tell_included(reading) && reading.complete();
}

bool lasso::returns(const moment& now, const teller& tell, bool& fresh) {
  fresh = false;
  if (too_large_ || work_bytes_ > work_bytes_most) return false;
  if (anchored_ && !blind_ && equals(tell)) return true;
  if (anchored_ && ++since_ < distance_) return false;
  // A copy that has to be taken early does not make the next one come later.
  if (anchored_) distance_ *= 2;
  since_ = 0;
  copier reading(*this);
  anchored_ = tell(reading) && tell_included(reading);
  too_large_ = !anchored_;
  anchor_ = now;
  blind_ = false;
  differed_at_ = nullptr;
  fresh = anchored_;
  return false;
}

// The first one that has any of these bytes.
std::vector<lasso::piece>::iterator lasso::find_count(const void* address, size_t size_bytes) {
  const auto* const low = static_cast<const std::byte*>(address);
  const auto first = std::lower_bound(counts_.begin(), counts_.end(), low, [](const piece& each, const std::byte* at) {
    return static_cast<const std::byte*>(each.at) + each.size_bytes <= at;
  });
  return first != counts_.end() && static_cast<const std::byte*>(first->at) < low + size_bytes ? first : counts_.end();
}

void lasso::note_count(const void* address, size_t size_bytes) {
  const auto known = find_count(address, size_bytes);
  if (known != counts_.end() && known->at == address && known->size_bytes == size_bytes) return;
  if (known != counts_.end()) return count_no_more(address, size_bytes);
  const auto* const low = static_cast<const std::byte*>(address);
  const bool was_looked_at = std::any_of(looked_at_.begin(), looked_at_.end(), [&](const piece& each) {
    const auto* const begin = static_cast<const std::byte*>(each.at);
    return begin < low + size_bytes && low < begin + each.size_bytes;
  });
  if (was_looked_at || counts_.size() + looked_at_.size() >= counts_most) return;
  const auto behind = std::lower_bound(counts_.begin(), counts_.end(), low, [](const piece& each, const std::byte* at) {
    return static_cast<const std::byte*>(each.at) < at;
  });
  counts_.insert(behind, {address, size_bytes});
  anchored_ = false;
}

void lasso::count_no_more(const void* address, size_t size_bytes) {
  for (auto each = find_count(address, size_bytes); each != counts_.end(); each = find_count(address, size_bytes)) {
    looked_at_.push_back(*each);
    counts_.erase(each);
  }
  anchored_ = false;
}

bool lasso::tell_but_counts(state_reader& to, const std::byte* low, size_t size_bytes) const {
  const std::byte* const high = low + size_bytes;
  for (const piece& each : counts_) {
    const auto* const begin = static_cast<const std::byte*>(each.at);
    if (begin < low || begin >= high) continue;
    if (begin != low && !to.bytes(low, static_cast<size_t>(begin - low))) return false;
    low = std::min(begin + each.size_bytes, high);
  }
  return low == high || to.bytes(low, static_cast<size_t>(high - low));
}

void lasso::include(const void* address, size_t size_bytes) {
  if (find_count(address, size_bytes) != counts_.end()) return;
  for (const piece& known : included_)
    if (known.at == address && known.size_bytes >= size_bytes) return;
  if (included_.size() == included_most) return blind();
  included_.push_back({address, size_bytes});
  anchored_ = false;  // the copy lacks what was there before
}

std::string lasso::reason() const {
  if (too_large_)
    return "its state is larger than " + std::to_string(state_bytes_most >> 20) + " MiB and was not compared";
  if (work_bytes_ > work_bytes_most) return "its state is too large to be compared as often as it takes";
  if (ever_blind_) return "it changes memory of the C++ heap, or of libraries, which cannot be compared";
  return {};
}

}  // namespace heddle::sim

#undef HEDDLE_AS_IT_IS
