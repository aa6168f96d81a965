// The readable form of a trace, in parts that its two forms share. Private to scheduler/.
#pragma once

#include <heddle/scheduler/trace.h>

#include <string>
#include <string_view>

namespace heddle::scheduler {

/// All fields but the answers, as one line of JSON.
std::string head_to_json(const trace& recorded);

/// Reads what head_to_json wrote.
trace_or_error head_from_json(std::string_view text);

}  // namespace heddle::scheduler
