// A lane's request on the host, after it has been copied out of shared memory: nothing of it can change any more,
// nothing of it is trusted. And the answer that grows beside it.
#pragma once

#include <heddle/rpc/service/request.h>
#include <string.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::rpc {

/// Takes a request apart from its start. A part that the request is too short for is nullopt, and so is every later one.
class request_reader {
 public:
  explicit request_reader(std::span<unsigned char> bytes) : left_(bytes) {}

  /// The next part, of `size_bytes` bytes; aligned to 8, and the caller's to change.
  std::optional<std::span<unsigned char>> take(uint64_t size_bytes) {
    if (size_bytes > left_.size()) {
      left_ = {};
      broken_ = true;
    }
    if (broken_) return std::nullopt;
    const std::span<unsigned char> part = left_.first(size_bytes);
    // Below: the last part may lack its padding.
    left_ = left_.subspan(std::min<uint64_t>(whole_words(size_bytes), left_.size()));
    return part;
  }

  template <typename T>
  std::optional<T> take_value() {
    const auto part = take(sizeof(T));
    if (!part) return std::nullopt;
    T value;
    memcpy(&value, part->data(), sizeof value);
    return value;
  }

  /// The next part as a text: its last byte must be zero, and no other.
  std::optional<const char*> take_text(uint64_t size_bytes) {
    const auto part = take(size_bytes);
    if (!part || part->empty()) return std::nullopt;
    if (memchr(part->data(), 0, part->size()) != &part->back()) return std::nullopt;
    return reinterpret_cast<const char*>(part->data());
  }

  bool is_empty() const { return left_.empty() && !broken_; }

 private:
  std::span<unsigned char> left_;
  bool broken_ = false;
};

/// What follows the head of a lane's answer. Never longer than its bound.
class answer_writer {
 public:
  answer_writer(std::vector<unsigned char>& bytes, uint64_t bound_bytes) : bytes_(bytes), bound_bytes_(bound_bytes) {
    bytes_.resize(sizeof(service_answer));
  }

  /// Room for a part of `size_bytes` zeroed bytes, or nullopt when that is above the bound.
  std::optional<std::span<unsigned char>> add(uint64_t size_bytes) {
    // Parts begin at whole words; the last one ends where it ends.
    const uint64_t at = whole_words(bytes_.size());
    if (at > bound_bytes_ || size_bytes > bound_bytes_ - at) return std::nullopt;
    bytes_.resize(at + size_bytes);
    return std::span(bytes_).subspan(at, size_bytes);
  }
  bool add(const void* data, uint64_t size_bytes) {
    const auto part = add(size_bytes);
    if (part && size_bytes != 0) memcpy(part->data(), data, size_bytes);
    return part.has_value();
  }

  /// Takes back what add gave beyond `size_bytes`; of the last part only.
  void shorten_last(std::span<unsigned char> part, uint64_t size_bytes) {
    bytes_.resize(bytes_.size() - part.size() + size_bytes);
  }
  /// Takes everything back but the head.
  void clear() { bytes_.resize(sizeof(service_answer)); }

  void set_head(const service_answer& answer) { memcpy(bytes_.data(), &answer, sizeof answer); }
  service_answer head() const {
    service_answer found;
    memcpy(&found, bytes_.data(), sizeof found);
    return found;
  }

 private:
  std::vector<unsigned char>& bytes_;
  uint64_t bound_bytes_;
};

}  // namespace heddle::rpc
