// Limits for sampled numbers, from the number of comparisons and the rate of false alarms.
#pragma once

#include <cstddef>
#include <string>

#include "report/report.hpp"

namespace largo::claims {

/// The probability with which a claim that is true fails by chance, at most, for one kind of comparison.
inline constexpr double kFalseAlarm = 1e-4;

/// The distance in standard errors that the largest of so many distances exceeds with a probability of at
/// most kFalseAlarm: P(|g| > z) = kFalseAlarm / comparisons for a normal g (Bonferroni), whether or not the
/// comparisons are independent. Domain: one comparison at least. Error: 1e-12.
double z_limit(std::size_t comparisons);

/// The number of a claim for the largest of so many distances, in standard errors, between two things:
/// "simulated and exact risk".
report::ReportNumber largest_distance(const std::string& between, double worst, std::size_t comparisons);

/// The largest number of 95 % intervals that miss what they are for, unless something is wrong: more of them
/// miss with a probability of at most kFalseAlarm, if they are independent.
std::size_t most_missed(std::size_t intervals);

/// " The limit for 24 distances in standard errors is exceeded by chance in one of 10⁴ runs at most, …": a
/// sentence for the text of a claim.
std::string chance_text(std::size_t comparisons);

}  // namespace largo::claims
