// largo icl: the command that the commands of in-context learning belong to.
#include "icl_options.hpp"

namespace largo {

void add_icl_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "icl",
      "In-context regression: risks at every prompt length, training, and the prompt length that is enough");
  command->require_subcommand(1);
  command->footer(
      "Example: largo icl threshold --d 5 --epsilon 0.01\n"
      "For help on a subcommand: largo icl risk --help, largo icl train --help, largo icl threshold --help,\n"
      "largo icl assumptions --help, largo icl single-location --help");
  add_icl_risk_command(*command);
  add_icl_train_command(*command);
  add_icl_threshold_command(*command);
  add_icl_assumptions_command(*command);
  add_icl_single_location_command(*command);
}

}  // namespace largo
