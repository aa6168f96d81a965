// A recorded run as one page of HTML that needs nothing else.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/trace.h>
#include <heddle/sim/call_times.h>
#include <heddle/sim/observe/run_record.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// All that a report is made of.
struct reported_run {
  const scheduler::trace& recorded;
  const parameters& settings;
  const scheduler::run_result& result;
  const sim::run_record& record;
  std::string program;                                ///< as it was typed
  std::vector<sim::call_times::reading> clocks = {};  ///< empty: nothing is known of virtual time
  std::string mended = {};  ///< the answers of `heddle mend --json` for this finding; empty without any
};

/// The page. Whatever texts of traces, settings and sources hold, it stays data.
std::string page_of(const reported_run& run);

/// The data of the page, as JSON in which no "<" is.
std::string page_data_of(const reported_run& run);

/// Text as HTML shows it.
std::string html_escaped(std::string_view text);

// Written at build time from page.html, page.css and the scripts (embed.cmake).
extern const std::string_view page_template;
extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace heddle::tools
