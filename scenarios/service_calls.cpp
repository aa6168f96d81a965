// Functions of the host, called with arguments of every size: nothing, a few words, several packets, null, above the bound; and memory
// that the host gives.
#include "services.h"

namespace heddle::tests {
namespace {

constexpr uint64_t call_bound_bytes = 512;
constexpr uint32_t most_words = 17;

HEDDLE_FUNCTION constexpr uint64_t word_of(uint64_t id, uint64_t n) { return id * 1000 + n * 7 + 1; }

/// Around the edges of the first packet, several packets, and none at all.
HEDDLE_FUNCTION constexpr uint64_t words_of_request(uint64_t id) {
  constexpr uint64_t sizes[] = {0, 1, 2, 3, 9, most_words};
  return sizes[id % (sizeof sizes / sizeof sizes[0])];
}

/// Adds up, counts the request, and leaves each word changed.
using account_function = uint64_t(uint64_t id, rpc::span<uint64_t> words, const char* name);

struct account_for {
  request_account account;

  uint64_t operator()(uint64_t id, rpc::span<uint64_t> words, const char* name) const {
    account.count(id);
    HEDDLE_CHECK(words.count == words_of_request(id), "the host gets another number of words than the kernel sends");
    HEDDLE_CHECK((name == nullptr) == (id % 2 == 0), "a text and null are mixed up");
    HEDDLE_CHECK(name == nullptr || (name[0] == 'o' && name[3] == 0), "the text is another");
    uint64_t sum = 0;
    for (uint64_t n = 0; n < words.count; ++n) {
      HEDDLE_CHECK(words.data[n] == word_of(id, n), "the host gets another word than the kernel sends");
      sum += words.data[n];
      words.data[n] = ~words.data[n];
    }
    return sum;
  }
};

struct calls_kernel {
  rpc::service_client host;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t words[most_words];
      uint64_t sum = 0;
      const uint64_t count = words_of_request(id);
      for (uint64_t n = 0; n < count; ++n) sum += words[n] = word_of(id, n);
      const auto given =
          host.call<account_function>(account_call, id, rpc::span{words, count}, id % 2 == 0 ? nullptr : "odd");
      HEDDLE_CHECK(given.ok() && given.result == sum, "the answer is not the one to this lane's request");
      for (uint64_t n = 0; n < count; ++n) HEDDLE_CHECK(words[n] == ~word_of(id, n), "a span comes back otherwise");

      void* const memory = host.allocate(32);
      HEDDLE_CHECK(memory != nullptr, "the host has no memory left");
      // Any other client that was given it as well would race here.
      *static_cast<uint64_t*>(memory) = id;
      HEDDLE_CHECK(*static_cast<uint64_t*>(memory) == id, "somebody else was given this memory");
      HEDDLE_CHECK(host.free(memory).ok(), "memory cannot be given back");
    }
    refusals();
  }

  /// What the host must not do.
  HEDDLE_FUNCTION void refusals() const {
    const auto unknown = host.call<account_function>(account_call + 1, 0, rpc::span<uint64_t>{}, nullptr);
    HEDDLE_CHECK(unknown.answer.status == rpc::service_status::unhandled,
                 "a function that nobody registered is called");
    const auto other = host.call<uint64_t(uint64_t)>(account_call, 0);
    HEDDLE_CHECK(other.answer.status == rpc::service_status::wrong_signature,
                 "a function is called with other arguments");
    const uint64_t one = 0;
    const auto large = host.call<void(rpc::span<const uint64_t>)>(account_call, rpc::span{&one, uint64_t{1} << 61});
    HEDDLE_CHECK(large.answer.status == rpc::service_status::too_large, "a request above the bound is taken");
  }
};

void run_service_calls(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  {
    const uint64_t room = 32 * uint64_t{set.count("waves")} * set.count("lanes");
    rpc::service host(on, shape_of(set, room), {.bound_bytes = call_bound_bytes});
    name_ports_of(host);
    host.add<account_function>(account_call, account_for{account}).value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              calls_kernel{host.client(), {set.count("lanes"), set.count("calls")}});
    on.synchronize();
    host.stop();
    host.join();
    HEDDLE_CHECK(host.handlers().memory().used_bytes() == 0, "memory that was given back is still in use");
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == 1, "not every request was handled");
}

}  // namespace

HEDDLE_SCENARIO(run_service_calls, {.name = "service.calls",
                                    .summary = "functions of the host, with spans and texts, and memory that it gives",
                                    .parameters = port_parameters(2, 2, 4, 2),
                                    .expected = needs_fair_clients});

}  // namespace heddle::tests
