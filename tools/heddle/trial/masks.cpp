#include <heddle/tools/trial/masks.h>

#include <charconv>
#include <optional>

namespace heddle::tools {

using sim::run_record;

namespace {

/// The number behind these words.
std::optional<uint32_t> number_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  uint32_t number = 0;
  if (at == std::string_view::npos) return std::nullopt;
  const char* const begin = text.data() + at + words.size();
  return std::from_chars(begin, text.data() + text.size(), number).ptr == begin ? std::nullopt : std::optional(number);
}

bool has_ended(std::string_view message) {
  return message.find("whose mask names that lane, which has ended") != std::string_view::npos;
}

}  // namespace

std::string advice_on_mask(std::string_view message) {
  if (has_ended(message))
    return "to change: the mask is to name the lanes that come there, and no other: take it by a ballot in front of "
           "the "
           "branch or the loop that parts them, or have all lanes come there";
  if (message.find("whose mask does not name it") == std::string_view::npos) return {};
  constexpr uint32_t of_32_bits = 32;
  const auto lane = number_behind(message, " lane ");
  if (!lane) return {};
  return "to change: the mask has a bit for each lane that comes there, and lacks that of lane " +
         std::to_string(*lane) +
         (*lane >= of_32_bits
              ? ": a shift of 32 bits, as of 1u or of unsigned long on some hosts, loses lanes from 32 on"
              : "");
}

uint64_t end_of_named_lane(const run_record& of, uint32_t wave, std::string_view message) {
  const auto lane = has_ended(message) ? number_behind(message, "the value of lane ") : std::nullopt;
  if (!lane) return 0;
  for (size_t n = of.steps.size(); n-- > 0;) {
    const run_record::actor& who = of.actors[of.steps[n].actor];
    if (who.wave == wave && who.lane == *lane) return of.first_step + n;
  }
  return 0;
}

}  // namespace heddle::tools
