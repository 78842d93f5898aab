/// The fields of a job's spec and its rules: the middle of codec_fields.h, which says how they are
/// used. Private to model/.
#pragma once

#include "model/codec_shape_fields.h"
#include "model/job.h"

namespace tutti::codec {

constexpr Dependency::On last_of(Of<Dependency::On>) { return Dependency::On::start; }
constexpr GangRule::When last_of(Of<GangRule::When>) { return GangRule::When::any; }
constexpr GangRule::Then last_of(Of<GangRule::Then>) { return GangRule::Then::complete; }

void fields(auto& a, Of<RoleSpec>) {
  a("name", &RoleSpec::name);
  a("count", &RoleSpec::count);
  a("min", &RoleSpec::min);
  a("labels", &RoleSpec::labels);
  a("alternatives", &RoleSpec::alternatives);
  a("launch", &RoleSpec::launch);
}

void fields(auto& a, Of<GroupSpec>) {
  a("closeness", &GroupSpec::closeness);
  a("copies", &GroupSpec::copies);
  a("roles", &GroupSpec::roles);
}

void fields(auto& a, Of<GangSpec>) {
  a("copies", &GangSpec::copies);
  a("closeness", &GangSpec::closeness);
  a("groups", &GangSpec::groups);
}

void fields(auto& a, Of<Dependency>) {
  a("job", &Dependency::job);
  a("on", &Dependency::on);
}

void fields(auto& a, Of<GangRule>) {
  a("when", &GangRule::when);
  a("then", &GangRule::then);
  a("role", &GangRule::role);
  a("exit_code", &GangRule::exit_code);
}

void fields(auto& a, Of<JobRules>) {
  a("after", &JobRules::after);
  a("run_time_max_us", &JobRules::run_time_max);
  a("retries", &JobRules::retries);
  a("pause_us", &JobRules::pause);
  a("pause_max_us", &JobRules::pause_max);
  a("launches", &JobRules::launches);
  a("at_once", &JobRules::at_once);
  a("gang_rules", &JobRules::gang_rules);
}

void fields(auto& a, Of<IndexRange>) {
  a("first", &IndexRange::first);
  a("last", &IndexRange::last);
  a("step", &IndexRange::step);
}

void fields(auto& a, Of<JobSpec>) {
  a("name", &JobSpec::name);
  a("queue", &JobSpec::queue);
  a("user", &JobSpec::user);
  a("space", &JobSpec::space);
  a("priority", &JobSpec::priority);
  a("labels", &JobSpec::labels);
  a("held", &JobSpec::held);
  a("rules", &JobSpec::rules);
  a("ttl_us", &JobSpec::ttl);
  a("array", &JobSpec::array);
  a("gangs", &JobSpec::gangs);
}

}  // namespace tutti::codec
