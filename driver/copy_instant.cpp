#include <heddle/driver/copy_instant.h>
#include <heddle/driver/copy_pages.h>
#include <heddle/driver/pieces.h>

namespace heddle::driver {

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
