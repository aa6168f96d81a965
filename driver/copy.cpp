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
  const uint64_t bytes = std::min(what.bytes - from.sent_bytes, slot->entry.size_bytes - offset);
  request piece = {.kind = request_kind::write, .device = slot->entry.device, .of = from.of, .process = what.process};
  piece.virtual_address = address;
  piece.physical_address = slot->entry.physical_address + offset;
  piece.bytes = bytes;
  if (what.kind == command_kind::copy_to_host) {
    piece.kind = request_kind::read;
    piece.to_host = what.to_host + from.sent_bytes;
  } else {
    piece.from_host = what.from_host + from.sent_bytes;
  }
  // Until the answer is there, the page stays where it is.
  ++slot->in_flight;
  from.sent_bytes += bytes;
  ++from.unanswered;
  driver_->send(piece);
  return true;
}

bool timed_copy::receive(const request& answer) {
  if (answer.kind != request_kind::write && answer.kind != request_kind::read) return false;
  const auto found =
      std::find_if(copies_.begin(), copies_.end(), [&](const copy& each) { return each.of == answer.of; });
  if (found == copies_.end()) return false;
  --driver_->memory().pages().find(answer.process, answer.virtual_address)->in_flight;
  found->poisoned_bytes += answer.poisoned_bytes;
  if (--found->unanswered != 0 || found->sent_bytes != answer.of->bytes) return true;
  report_poison(*found->of, found->poisoned_bytes);
  copies_.erase(found);
  driver_->complete(*answer.of);
  return true;
}

handling instant_copy::process(command& next) {
  if (!is_copy(next)) return handling::not_mine;
  const page_table& pages = driver_->memory().pages();
  bool migrating = false;
  for_each_page_piece(next.address, next.bytes, pages.page_bytes(), [&](uint64_t address, uint64_t, uint64_t) {
    migrating = migrating || pages.find(next.process, address)->entry.migrating;
  });
  if (migrating) return handling::later;
  uint64_t poisoned_bytes = 0;
  for_each_page_piece(next.address, next.bytes, pages.page_bytes(),
                      [&](uint64_t address, uint64_t done, uint64_t size) {
                        const page& where = pages.find(next.process, address)->entry;
                        const uint64_t offset = address - where.virtual_address;
                        if (next.kind == command_kind::copy_to_host)
                          poisoned_bytes += driver_->read_memory(where, offset, {next.to_host + done, size});
                        else
                          driver_->write_memory(where, offset, {next.from_host + done, size});
                      });
  report_poison(next, poisoned_bytes);
  return handling::done;
}

}  // namespace heddle::driver
