// The text of a study file.
#pragma once

#include <string>
#include <vector>

#include "largo/studies/study.hpp"

namespace largo::studies {

/// `file` is its name in messages, and the title where there is none. Errors as read_study().
StudyPlan parse_study(const std::string& text, const std::string& file,
                      const std::vector<StudyChange>& changes = {});

}  // namespace largo::studies
