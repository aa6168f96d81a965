// What is printed with a trace, wherever one is found.
#pragma once

#include <heddle/scheduler/trace.h>

#include <string>
#include <string_view>
#include <utility>

namespace heddle::tools {

/// The token, where it fits a command line, and the commands that play the run again and make a page of it: of `file`
/// or, where that is empty, of the token. Where there is a `page` already, where it is.
std::string how_to_play(const scheduler::trace& recorded, const std::string& program, const std::string& file,
                        const std::string& page = {});

/// One line about how to look past it, behind a race; else empty.
std::string_view past_races(scheduler::verdict found);

/// The first paragraph of a report and the others: what happened, and where each actor stands.
std::pair<std::string_view, std::string_view> paragraphs(std::string_view report);

}  // namespace heddle::tools
