#include <heddle/driver/migration.h>

#include <algorithm>

namespace heddle::driver {

bool migrator::take_wanted() {
  if (step_ != step::idle) return false;
  // A page of which a copy is under way cannot move yet. Answers wake the driver, so it is looked at again. Where the chain holds back what one GPU
  // wants of a process, another may go first.
  std::vector<wish> asked_for;
  for (const wish& each : wanted_) {
    const auto like_it = [&](const wish& other) {
      return other.to == each.to && other.slot->entry.process == each.slot->entry.process;
    };
    if (each.slot->in_flight != 0 || std::any_of(asked_for.begin(), asked_for.end(), like_it)) continue;
    if (take(each)) return true;
    asked_for.push_back(each);
  }
  return false;
}

bool migrator::take(const wish& first) {
  to_ = first.to;
  process_ = first.slot->entry.process;
  slots_.clear();
  addresses_.clear();
  old_.clear();
  copied_ = 0;
  const auto mine = [this](const wish& each) {
    return each.to == to_ && each.slot->entry.process == process_ && each.slot->in_flight == 0;
  };
  order_.clear();
  order_.kind = command_kind::migrate;
  order_.process = process_;
  order_.device = to_;
  order_.address = first.slot->entry.virtual_address;
  for (const wish& each : wanted_)
    if (mine(each)) {
      slots_.push_back(each.slot);
      addresses_.push_back(each.slot->entry.virtual_address);
      order_.bytes += each.slot->entry.size_bytes;
    }
  const handling how = driver_->offer(order_);
  if (how == handling::later || how == handling::running) return false;
  wanted_.erase(std::remove_if(wanted_.begin(), wanted_.end(), mine), wanted_.end());
  if (how == handling::done) {
    let_go_on();
    return true;
  }
  const auto gpus = driver_->devices().gpus();
  all_.assign(gpus.begin(), gpus.end());
  stopped_.clear();
  step_ = step::drain;
  send_to(all_, request_kind::drain_rdma);
  return true;
}

void migrator::let_go_on() {
  for (page_slot* const slot : slots_) {
    slot->entry.migrating = false;
    slot->entry.pinned = true;
  }
  driver_->has_ended(order_);
  around_->answer_walks();
}

bool migrator::send() {
  const bool is_early = step_ == step::shoot_down && driver_->settings().fault == driver_fault::early_copy;
  if (unanswered_ != 0 && !is_early) return false;
  switch (step_) {
    case step::idle:
    case step::answer:
      return false;
    case step::drain:
      step_ = step::shoot_down;
      for (const device_id gpu : all_)
        if (std::any_of(slots_.begin(), slots_.end(), [&](const page_slot* slot) {
              return slot->entry.device == gpu || around_->translates(gpu, process_, slot->entry.virtual_address);
            }))
          stopped_.push_back(gpu);
      send_to(stopped_, request_kind::shoot_down);
      return true;
    case step::shoot_down:
      step_ = step::copy;
      [[fallthrough]];
    case step::copy:
      while (copied_ < slots_.size()) {
        page_slot& slot = *slots_[copied_++];
        result<page> old = driver_->memory().move(slot, to_);
        if (!old) continue;
        old_.push_back(old.value());
        request copy = {.kind = request_kind::copy_page, .device = to_, .process = process_};
        copy.virtual_address = slot.entry.virtual_address;
        copy.physical_address = slot.entry.physical_address;
        copy.from = old_.back().physical_address;
        copy.bytes = slot.entry.size_bytes;
        ++unanswered_;
        driver_->send(copy);
        return true;
      }
      step_ = step::restart;
      send_to(stopped_, request_kind::restart);
      return true;
    case step::restart:
      step_ = step::restart_rdma;
      send_to(all_, request_kind::restart_rdma);
      return true;
    case step::restart_rdma:
      step_ = step::answer;
      return true;
  }
  return false;
}

bool migrator::receive(const request& answer) {
  if (answer.of != nullptr) return false;
  --unanswered_;
  return true;
}

bool migrator::answer_mmu() {
  if (step_ != step::answer) return false;
  for (const page& old : old_) {
    around_->abandon(old);
    driver_->memory().give_back(old);
  }
  moved_ += old_.size();
  step_ = step::idle;
  let_go_on();
  return true;
}

void migrator::send_to(const std::vector<device_id>& gpus, request_kind kind) {
  unanswered_ = gpus.size();
  for (const device_id gpu : gpus)
    driver_->send({.kind = kind, .device = gpu, .process = process_, .pages = &addresses_});
}

}  // namespace heddle::driver
