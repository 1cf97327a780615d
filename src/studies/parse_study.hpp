// Parses the text of a study file.
#pragma once

#include <string>
#include <vector>

#include "largo/studies/study.hpp"

namespace largo::studies {

/// `file` is its name in messages, and gives the title if the text has none. Throws what read_study() throws.
StudyPlan parse_study(const std::string& text, const std::string& file,
                      const std::vector<StudyChange>& changes = {});

}  // namespace largo::studies
