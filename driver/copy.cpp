#include <heddle/driver/copy.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <algorithm>

namespace heddle::driver {

void report_poison(command& copy, uint64_t poisoned_bytes) {
  if (poisoned_bytes != 0)
    copy.fail(failure(
        "copy_to_host", words("process ", copy.process, ", ", address_text{copy.address}, ", ", copy.bytes, " bytes"),
        "poisoned", words(poisoned_bytes, " of the bytes were not written since their page was remapped")));
}

handling timed_copy::process(command& next) {
  if (!is_copy(next)) return handling::not_mine;
  const picoseconds begins = driver_->engine().now() + driver_->settings().copy;
  copies_.push_back({.of = &next, .begins = begins});
  driver_->tick_at(begins);
  return handling::running;
}

bool timed_copy::tick() {
  bool any = false;
  for (copy& each : copies_)
    if (each.begins <= driver_->engine().now() && send_next(each)) any = true;
  return any;
}

bool timed_copy::send_next(copy& from) {
  const command& what = *from.of;
  if (from.sent_bytes == what.bytes || !driver_->port_has_room()) return false;
  const uint64_t address = what.address + from.sent_bytes;
  page_slot* const slot = driver_->memory().pages().find(what.process, address);
  if (slot->entry.migrating) return false;
  const uint64_t offset = address - slot->entry.virtual_address;
  uint64_t bytes = std::min(what.bytes - from.sent_bytes, slot->entry.size_bytes - offset);
  request piece = {.kind = request_kind::write, .device = slot->entry.device, .of = from.of, .process = what.process};
  piece.virtual_address = address;
  piece.physical_address = slot->entry.physical_address + offset;
  piece.bytes = bytes;
  if (what.kind == command_kind::copy_to_host) {
    piece.kind = request_kind::read;
    piece.to_host = what.to_host + from.sent_bytes;
  } else if (what.kind == command_kind::copy_on_device) {
    piece.from_virtual = what.from_address + from.sent_bytes;
    page_slot* const source = driver_->memory().pages().find(what.process, piece.from_virtual);
    if (source->entry.migrating) return false;
    const uint64_t offset_there = piece.from_virtual - source->entry.virtual_address;
    bytes = std::min(bytes, source->entry.size_bytes - offset_there);
    piece.kind = request_kind::copy;
    piece.from = source->entry.physical_address + offset_there;
    piece.bytes = bytes;
    ++source->in_flight;
  } else {
    piece.from_host = what.from_host + from.sent_bytes;
  }
  // Until the answer is there, each page stays where it is.
  ++slot->in_flight;
  from.sent_bytes += bytes;
  ++from.unanswered;
  driver_->send(piece);
  return true;
}

bool timed_copy::receive(const request& answer) {
  if (answer.kind != request_kind::write && answer.kind != request_kind::read && answer.kind != request_kind::copy)
    return false;
  const auto found =
      std::find_if(copies_.begin(), copies_.end(), [&](const copy& each) { return each.of == answer.of; });
  if (found == copies_.end()) return false;
  --driver_->memory().pages().find(answer.process, answer.virtual_address)->in_flight;
  if (answer.kind == request_kind::copy)
    --driver_->memory().pages().find(answer.process, answer.from_virtual)->in_flight;
  found->poisoned_bytes += answer.poisoned_bytes;
  if (--found->unanswered != 0 || found->sent_bytes != answer.of->bytes) return true;
  report_poison(*found->of, found->poisoned_bytes);
  copies_.erase(found);
  driver_->complete(*answer.of);
  return true;
}

namespace {

bool any_page_moves(const page_table& pages, process_id process, uint64_t address, uint64_t bytes) {
  bool migrating = false;
  for_each_page_piece(address, bytes, pages.page_bytes(), [&](uint64_t at, uint64_t, uint64_t) {
    migrating = migrating || pages.find(process, at)->entry.migrating;
  });
  return migrating;
}

}  // namespace

uint64_t instant_copy::read(const command& what, uint64_t address, std::byte* to) const {
  const page_table& pages = driver_->memory().pages();
  uint64_t poisoned_bytes = 0;
  for_each_page_piece(address, what.bytes, pages.page_bytes(), [&](uint64_t at, uint64_t done, uint64_t size) {
    const page& where = pages.find(what.process, at)->entry;
    poisoned_bytes += driver_->read_memory(where, at - where.virtual_address, {to + done, size});
  });
  return poisoned_bytes;
}

void instant_copy::write(const command& what, const std::byte* from) const {
  const page_table& pages = driver_->memory().pages();
  for_each_page_piece(what.address, what.bytes, pages.page_bytes(), [&](uint64_t at, uint64_t done, uint64_t size) {
    const page& where = pages.find(what.process, at)->entry;
    driver_->write_memory(where, at - where.virtual_address, {from + done, size});
  });
}

handling instant_copy::process(command& next) {
  if (!is_copy(next)) return handling::not_mine;
  const page_table& pages = driver_->memory().pages();
  const bool on_devices = next.kind == command_kind::copy_on_device;
  if (any_page_moves(pages, next.process, next.address, next.bytes) ||
      (on_devices && any_page_moves(pages, next.process, next.from_address, next.bytes)))
    return handling::later;
  if (driver_->mover() != nullptr && next.staged.empty()) {
    driver_->mover()->move({.kind = on_devices                                ? request_kind::copy
                                    : next.kind == command_kind::copy_to_host ? request_kind::read
                                                                              : request_kind::write,
                            .device = pages.find(next.process, next.address)->entry.device,
                            .of = &next,
                            .process = next.process,
                            .virtual_address = next.address,
                            .from_virtual = next.from_address,
                            .bytes = next.bytes,
                            .to_host = next.to_host,
                            .from_host = next.from_host});
    return handling::running;
  }
  if (next.kind == command_kind::copy_to_host) {
    report_poison(next, read(next, next.address, next.to_host));
  } else if (on_devices) {
    std::vector<std::byte> between(next.bytes);
    report_poison(next, read(next, next.from_address, between.data()));
    write(next, between.data());
  } else {
    write(next, next.from_host);
  }
  return handling::done;
}

}  // namespace heddle::driver
