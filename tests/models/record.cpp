#include "record.h"

#include <array>
#include <bitset>
#include <cassert>
#include <optional>

namespace heddle::tests::models {
namespace {

using rpc::side;

constexpr uint32_t states = 1024;
constexpr uint32_t boxes_max = 4;

/// One side of a box.
struct half {
  bool outbox = false;
  bool inbox = false;  ///< as the holder of the lock has read it
  bool lock = false;
  bool use = false;
  std::optional<uint32_t> holder;

  uint32_t bits() const { return outbox * 8U + inbox * 4U + lock * 2U + use; }
};

struct box {
  half client;
  half server;
  content data = content::nothing;
  uint32_t before = 0;

  half& of(side which) { return which == side::client ? client : server; }
};

placement at;
std::array<box, boxes_max> boxes;
std::bitset<size_t{states} * states> seen;

std::optional<uint32_t> index_in(const uint32_t* words, const void* word) {
  for (uint32_t n = 0; n < at.boxes; ++n)
    if (words + n == word) return n;
  return {};
}

/// The box whose packet or line this is.
box& box_of(const void* data) {
  const auto offset = static_cast<size_t>(static_cast<const unsigned char*>(data) - at.data);
  assert(offset / at.data_bytes < at.boxes);
  return boxes[offset / at.data_bytes];
}

void see(box& changed) {
  const uint32_t now = changed.client.bits() << 6 | changed.server.bits() << 2 | static_cast<uint32_t>(changed.data);
  if (now != changed.before) seen.set(size_t{changed.before} * states + now);
  changed.before = now;
}

std::string text_of(uint32_t state) {
  std::string text;
  for (int bit = 9; bit >= 2; --bit) {
    text += (state >> bit & 1) != 0 ? '1' : '0';
    if (bit == 6 || bit == 2) text += ' ';
  }
  return text + "-ra"[state & 3];
}

}  // namespace

void begin_record(const placement& where) {
  assert(where.boxes <= boxes_max);
  at = where;
  boxes = {};
}

std::set<std::string> seen_steps() {
  std::set<std::string> steps;
  for (uint32_t from = 0; from < states; ++from)
    for (uint32_t to = 0; to < states; ++to)
      if (seen[size_t{from} * states + to]) steps.insert(text_of(from) + " > " + text_of(to));
  return steps;
}

void forget_steps() { seen.reset(); }

void note_stored(const void* word, uint64_t value) {
  for (const side whose : {side::client, side::server}) {
    const auto index = index_in(whose == side::client ? at.client_outbox : at.server_outbox, word);
    if (!index) continue;
    boxes[*index].of(whose).outbox = (value & 1) != 0;
    see(boxes[*index]);
  }
}

void note_loaded(side by, uint32_t actor, const void* word, uint64_t value) {
  const auto index = index_in(by == side::client ? at.server_outbox : at.client_outbox, word);
  if (!index) return;
  half& reader = boxes[*index].of(by);
  if (reader.holder != actor) return;
  reader.inbox = (value & 1) != 0;
  see(boxes[*index]);
}

void note_locked(side by, uint32_t actor, const void* word, uint64_t bits, uint64_t before) {
  if (word != (by == side::client ? at.client_locks : at.server_locks)) return;
  for (uint32_t n = 0; n < at.boxes; ++n) {
    if ((bits & ~before & uint64_t{1} << n * at.bits_of_lock) == 0) continue;
    half& taken = boxes[n].of(by);
    taken.lock = true;
    taken.holder = actor;
    see(boxes[n]);
  }
}

void note_unlocked(side by, const void* word, uint64_t bits) {
  if (word != (by == side::client ? at.client_locks : at.server_locks)) return;
  for (uint32_t n = 0; n < at.boxes; ++n) {
    if ((bits & uint64_t{1} << n * at.bits_of_lock) == 0) continue;
    half& given = boxes[n].of(by);
    given.lock = false;
    given.holder.reset();
    see(boxes[n]);
  }
}

void begin_use(side by, const void* data) {
  box_of(data).of(by).use = true;
  see(box_of(data));
}

void end_use(side by, const void* data) { end_use(by, data, box_of(data).data); }

void end_use(side by, const void* data, content now) {
  box_of(data).of(by).use = false;
  box_of(data).data = now;
  see(box_of(data));
}

}  // namespace heddle::tests::models
