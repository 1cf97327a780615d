// largo status: the progress of a study, also while it is running.
#include <string>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "largo/studies/study_table.hpp"
#include "output.hpp"
#include "usage.hpp"

namespace largo {
namespace {

struct StatusOptions : CommonOptions {
  std::string store;
};

io::Json to_json(const StudyStatus& status) {
  io::Json json{{"title", status.title},     {"quantity", status.quantity},
                {"version", status.version}, {"units", status.units},
                {"done", status.done},       {"failed", status.failed},
                {"others", status.others},   {"running", status.running},
                {"rate", status.rate},       {"unit_seconds", status.unit_seconds}};
  json["failures"] = io::Json::array();
  for (const FailedUnit& one : status.failures) {
    json["failures"].push_back({{"inputs", io::Json::parse(one.inputs)}, {"message", one.message}});
  }
  json["content"] = status.content;
  return json;
}

void run_status(const StatusOptions& options) {
  const StudyStatus status = study_status(options.store);
  if (options.json) return print_json(to_json(status));
  const std::int64_t left = status.units - status.done - status.failed;
  fmt::print("{}: {} of {} units done{}\n", shortened_line(status.title), status.done, status.units,
             status.running ? ", still running" : "");
  if (status.failed > 0) fmt::print("{} failed:\n", status.failed);
  for (const FailedUnit& one : status.failures) {
    fmt::print("  {}\n    {}\n", shortened_line(one.inputs), shortened_line(one.message));
  }
  if (status.others > 0)
    fmt::print("{} more in the store, which are no longer in the study\n", status.others);
  if (status.running && status.rate > 0 && left > 0) {
    fmt::print("{:.3g} units a second, about {:.2g} s left\n", status.rate,
               static_cast<double>(left) / status.rate);
  } else if (left > 0) {
    fmt::print("{} still to run\n", left);
  }
}

}  // namespace

void add_status_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "status", run_status, "Show the progress of a study, also while it is running");
  add_text_option(*command, "store", options->store, "Store of the study, a SQLite file")->required();
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer(
      "content is a hash of the units and their results in the study's order. It does not depend on\n"
      "how they were run.\n\n"
      "Example: largo status errors.sqlite");
}

}  // namespace largo
