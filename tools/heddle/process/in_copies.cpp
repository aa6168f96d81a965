#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>

#include <memory>
#include <vector>

namespace heddle::tools {

void in_copies(const copies_options& asked) {
  struct member {
    size_t index = 0;
    std::unique_ptr<copied_process> copy;
  };
  std::vector<member> all;
  size_t next = 0;
  while (true) {
    while (all.size() < asked.most && next < asked.count && !interrupt_flag().load(std::memory_order_relaxed)) {
      const size_t index = next++;
      all.push_back({.index = index,
                     .copy = std::make_unique<copied_process>(
                         [&, index](const message_line& line) { line.send(asked.work(index)); },
                         copied_process::options{.survives_damage = true})});
    }
    if (all.empty()) return;
    std::vector<copied_process*> busy;
    for (const member& each : all) busy.push_back(each.copy.get());
    wait_for_any(busy);
    std::erase_if(all, [&](const member& each) {
      const bool over = each.copy->has_ended();
      const std::optional<std::string> said = each.copy->receive();
      if (said)
        asked.done(each.index, *said);
      else if (over && each.copy->was_stopped())
        asked.stopped(each.index);
      else if (over)
        asked.ended(each.index, each.copy->how_it_ended());
      return said || over;
    });
  }
}

}  // namespace heddle::tools
