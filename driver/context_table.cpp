#include <heddle/driver/context_table.h>
#include <heddle/driver/message.h>

namespace heddle::driver {

context_id context_table::create_context() {
  const process_id process = memory_->create_process();
  marks_.resize(process + size_t{1});
  contexts_.push_back(std::make_unique<context_state>());
  contexts_.back()->process = process;
  contexts_.back()->device = devices_->gpus().empty() ? cpu_device : devices_->gpus().front();
  return static_cast<context_id>(contexts_.size() - 1);
}

result<context_id> context_table::create_context_beside(context_id other) {
  const auto known = context_for("create_context_beside", other);
  if (!known) return known.why();
  contexts_.push_back(std::make_unique<context_state>());
  contexts_.back()->process = contexts_[other]->process;
  contexts_.back()->device = contexts_[other]->device;
  return static_cast<context_id>(contexts_.size() - 1);
}

result<context_state*> context_table::context_for(const char* call, context_id context) {
  if (context < contexts_.size()) return contexts_[context].get();
  return failure(call, words("context ", context), "unknown context", words("there are ", contexts_.size()));
}

result<process_id> context_table::process_of(context_id context) const {
  if (context < contexts_.size()) return contexts_[context]->process;
  return failure("process_of", words("context ", context), "unknown context", words("there are ", contexts_.size()));
}

result<void> context_table::select_device(context_id context, device_id device) {
  auto in = context_for("select_device", context);
  if (!in) return in.why();
  if (!devices_->has(device))
    return failure("select_device", words("context ", context, ", device ", device), "unknown device",
                   devices_->known());
  in.value()->device = device;
  return {};
}

result<device_id> context_table::selected_device(context_id context) const {
  if (context < contexts_.size()) return contexts_[context]->device;
  return failure("selected_device", words("context ", context), "unknown context",
                 words("there are ", contexts_.size()));
}

// -- memory ------------------------------------------------------------------------------------------------------------------------

result<uint64_t> context_table::allocate(context_id context, uint64_t bytes) {
  auto in = context_for("allocate", context);
  if (!in) return in.why();
  return memory_->allocate(in.value()->process, bytes, in.value()->device);
}

result<uint64_t> context_table::allocate_unified(context_id context, uint64_t bytes) {
  auto in = context_for("allocate_unified", context);
  if (!in) return in.why();
  return memory_->allocate(in.value()->process, bytes, in.value()->device, true);
}

result<void> context_table::free(context_id context, uint64_t address) {
  auto in = context_for("free", context);
  if (!in) return in.why();
  return memory_->free(in.value()->process, address);
}

result<void> context_table::remap(context_id context, uint64_t address, uint64_t bytes, device_id device) {
  auto in = context_for("remap", context);
  if (!in) return in.why();
  return memory_->remap(in.value()->process, address, bytes, device);
}

result<void> context_table::remove_page(context_id context, uint64_t address) {
  auto in = context_for("remove_page", context);
  if (!in) return in.why();
  return memory_->remove_page(in.value()->process, address);
}

result<page> context_table::allocate_page_at(context_id context, device_id device, uint64_t address, bool unified) {
  auto in = context_for("allocate_page_at", context);
  if (!in) return in.why();
  return memory_->allocate_page_at(in.value()->process, device, address, unified);
}

}  // namespace heddle::driver
