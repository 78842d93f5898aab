#include "model/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "format/json.h"
#include "model/codec_fields.h"
#include "model/codec_read.h"
#include "model/codec_write.h"

namespace tutti::codec_test {

using codec::Described;
using codec::Of;
using codec::Worded;
using ::testing::HasSubstr;

// --- Every member of every struct is listed -----------------------------------------------------

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): stands for a member of any type.
};

/// How many members an aggregate has: as many as it takes initialisers.
template <class T, class... Given>
consteval std::size_t member_count() {
  if constexpr (requires { T{Given{}..., Anything{}}; }) {
    return member_count<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

template <class T>
void expect_listed() {
  EXPECT_EQ(codec::field_names<T>().size(), member_count<T>()) << __PRETTY_FUNCTION__;
}

template <class... T>
void expect_all_listed() {
  (expect_listed<T>(), ...);
}

TEST(CodecTest, EveryMemberOfEveryStructIsListed) {
  expect_all_listed<Label, NamedAmount, Requirement, Selector, Closeness, DeviceRequest>();
  expect_all_listed<Toleration, StackRequirement, PreferredNodes, TaskAffinity, Spread, HostPort>();
  expect_all_listed<TaskShape, LaunchSpec, RoleSpec, GroupSpec, GangSpec, JobSpec, TaskId,
                    Action>();
  expect_all_listed<Dependency, GangRule, JobRules, IndexRange, TimePassed>();
  expect_all_listed<Attribute, DeviceType, Device, DeviceSpec, Taint, StackVersion, NodeSpec>();
  expect_all_listed<TreeSpec, QueueSpec, NodeReported, NodeLost, NodeCordoned>();
  expect_all_listed<DeviceHealthChanged, TreesDeclared, QueueSet, JobSubmitted, JobCancelled>();
  expect_all_listed<PlanDecided, TaskStarted, TaskExited, TaskRefused, MixSet, MixSet::Entry>();
  expect_all_listed<JobHeld, TaskBound>();
}

// --- Random events, all fields populated --------------------------------------------------------

class Filler {
 public:
  explicit Filler(std::uint64_t seed) : prng_(seed) {}

  template <Described T>
  void fill(T& value) {
    const auto member = [&](std::string_view, auto pointer) { fill(value.*pointer); };
    fields(member, Of<T>{});
  }
  void fill(bool& value) { value = prng_.chance(500); }
  template <std::integral T>
  void fill(T& value) {
    const std::array<T, 5> edges{0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                                 static_cast<T>(prng_.next64())};
    value = edges[prng_.below(5)];
  }
  template <Worded T>
  void fill(T& value) {
    value = static_cast<T>(prng_.below(static_cast<std::uint32_t>(last_of(Of<T>{})) + 1));
  }
  template <class Tag, class Rep>
  void fill(Index<Tag, Rep>& value) {
    Rep number = 0;
    fill(number);
    value = Index<Tag, Rep>(number);
  }
  void fill(std::string& value) {
    static constexpr std::array<std::string_view, 10> pieces{
        "gpu", "a-1",          "\"",
        "\\",  "\n\t\x01\x7f", "调度",
        "😀",  "\xff\xc0",     std::string_view("\0", 1),
        ""};
    value.clear();
    for (std::uint32_t left = prng_.below(4); left > 0; --left) value += pieces[prng_.below(10)];
  }
  void fill(Duration& value) { fill(value.us); }
  void fill(AttributeExpression& value) {
    static constexpr std::array<std::string_view, 5> texts{
        "", "fp8", "memory >= 40Gi && !(vendor in (a, \"b c\") || x != 3)", "n == \"  \xff\"",
        "a not in (\"in\", 5)"};
    value = *AttributeExpression::parse(texts[prng_.below(5)]);
  }
  void fill(Labels& value) {
    std::vector<Label> labels;
    fill(labels);
    value = Labels(labels);
  }
  void fill(DeviceSet& value) {
    value = {};
    for (std::uint32_t left = prng_.below(4); left > 0; --left) value.add(prng_.below(128));
  }
  template <class T>
  void fill(std::vector<T>& items) {
    items.resize(prng_.below(4));
    for (T& item : items) fill(item);
  }
  template <class T>
  void fill(std::shared_ptr<const T>& value) {
    auto fresh = std::make_shared<T>();
    fill(*fresh);
    value = std::move(fresh);
  }

 private:
  Prng prng_;
};

/// Equality that looks through shared pointers.
bool same(const auto& a, const auto& b) { return a == b; }
template <Described T>
bool same(const T& a, const T& b);
template <class T>
bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return same(*a, *b);
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}
template <Described T>
bool same(const T& a, const T& b) {
  bool equal = true;
  const auto member = [&](std::string_view, auto pointer) {
    equal = equal && same(a.*pointer, b.*pointer);
  };
  fields(member, Of<T>{});
  return equal;
}

template <class T>
void expect_round_trip(const T& event, Instant at) {
  const std::string line = encode(event, at);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = decode_event(line);
  ASSERT_TRUE(back.has_value()) << back.error().text() << line;
  EXPECT_EQ(back->second, at);
  ASSERT_TRUE(std::holds_alternative<T>(back->first)) << line;
  EXPECT_TRUE(same(std::get<T>(back->first), event)) << line;
  EXPECT_EQ(encode(back->first, back->second), line);
}

template <std::size_t alternative = 0>
void each_alternative(auto visit) {
  if constexpr (alternative < std::variant_size_v<Event>) {
    visit(std::variant_alternative_t<alternative, Event>{});
    each_alternative<alternative + 1>(visit);
  }
}

TEST(CodecTest, RandomEventsOfEveryKindRoundTrip) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Filler filler(seed);
    each_alternative([&](auto event) {
      filler.fill(event);
      Instant at;
      filler.fill(at.us);
      expect_round_trip(event, at);
    });
  }
}

TEST(CodecTest, DefaultsAreLeftOut) {
  each_alternative([](auto event) {
    const std::string head = "{\"tag\":" + std::to_string(event.tag) + ",\"version\":1,\"at\":5";
    if constexpr (std::is_same_v<decltype(event), JobSubmitted>) {
      event.spec = std::make_shared<const JobSpec>();
      EXPECT_EQ(encode(event, Instant{5}), head + ",\"spec\":{}}");
    } else {
      EXPECT_EQ(encode(event, Instant{5}), head + "}");
    }
    expect_round_trip(event, Instant{5});
  });
}

TEST(CodecTest, TagsAreStable) {
  std::vector<std::string> tags;
  each_alternative([&](auto event) {
    tags.push_back(std::to_string(event.tag) + " " + std::string(name_of(event)));
  });
  EXPECT_THAT(
      tags, ::testing::ElementsAre("1 node_reported", "2 node_lost", "3 node_cordoned",
                                   "4 device_health_changed", "5 trees_declared", "6 queue_set",
                                   "7 job_submitted", "8 job_cancelled", "9 plan_decided",
                                   "10 task_started", "11 task_exited", "12 task_refused",
                                   "13 mix_set", "14 job_held", "15 time_passed", "16 task_bound"));
}

// --- The form -----------------------------------------------------------------------------------

TEST(CodecTest, LinesReadWell) {
  Action action{.task = {JobId(7), 3}, .attempt = 2, .shape = ShapeIndex(0), .node = NodeIndex(4)};
  action.devices.add(0);
  action.devices.add(127);
  EXPECT_EQ(encode(PlanDecided{{action}}, Instant{9}),
            R"({"tag":9,"version":1,"at":9,"actions":[{"task":{"job":7,"ordinal":3},"attempt":2,)"
            R"("shape":0,"node":4,"devices":[0,127]}]})");
  NodeSpec node{
      .name = "n", .labels = Labels(std::vector<Label>{{"rack", "r1"}}), .cordoned = true};
  node.taints = {{.key = "k", .effect = TaintEffect::no_execute}};
  EXPECT_EQ(encode(NodeReported{node}, Instant{-1}),
            R"({"tag":1,"version":1,"at":-1,"node":{"name":"n","labels":{"rack":"r1"},)"
            R"("taints":[{"key":"k","effect":"no_execute"}],"cordoned":true}})");
}

TEST(CodecTest, EqualNeighboursShareTheirType) {
  const DeviceSpec t4{.type = {.model = "T4"}, .device = {}};
  NodeSpec node{.devices = {t4, t4, {}, {}, t4}};
  node.devices[1].device.numa = 1;
  EXPECT_EQ(encode(NodeReported{node}, {}),
            R"({"tag":1,"version":1,"at":0,"node":{"devices":[{"type":{"model":"T4"}},)"
            R"({"device":{"numa":1}},{"type":{}},{},{"type":{"model":"T4"}}]}})");
  expect_round_trip(NodeReported{node}, {});
}

TEST(CodecTest, HowLongAJobIsShownIsWrittenWhereItSaysSo) {
  const auto line = [](Duration ttl) {
    return encode(JobSubmitted{JobId(1), std::make_shared<const JobSpec>(JobSpec{.ttl = ttl})}, {});
  };
  EXPECT_THAT(line(JobSpec::as_usual), ::testing::Not(HasSubstr("ttl")));
  EXPECT_THAT(line(Duration{}), HasSubstr(R"("spec":{"ttl_us":0})"));
}

TEST(CodecTest, WhatJsonCannotHoldIsHexadecimal) {
  EXPECT_EQ(encode(NodeLost{std::string("a\0", 2)}, {}),
            R"({"tag":2,"version":1,"at":0,"node":{"hex":"6100"}})");
  NodeSpec node{.labels = Labels(std::vector<Label>{{"\xff", "v"}, {"b", "w"}})};
  EXPECT_EQ(encode(NodeReported{node}, {}),
            R"({"tag":1,"version":1,"at":0,"node":{"labels":[{"key":"b","value":"w"},)"
            R"({"key":{"hex":"ff"},"value":"v"}]}})");
  expect_round_trip(NodeReported{node}, {});
}

// --- What is refused ----------------------------------------------------------------------------

std::string error_of(std::string_view line) {
  const auto decoded = decode_event(line);
  return decoded ? "none" : decoded.error().where + ": " + decoded.error().what;
}

std::string lost(std::string_view rest) {
  return R"({"tag":2,"version":1,"at":0,)" + std::string(rest) + "}";
}

TEST(CodecTest, LinesThatAreNoEventAreRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("1:1"));
  EXPECT_THAT(error_of("{"), HasSubstr("1:"));
  EXPECT_EQ(error_of("[]"), "1:1: expected a map, found a list of 0");
  EXPECT_EQ(error_of("{}"), "1:1: tag is missing");
  EXPECT_EQ(error_of(R"({"tag":1,"at":0})"), "1:1: version is missing");
  EXPECT_EQ(error_of(R"({"tag":1,"version":1})"), "1:1: at is missing");
  EXPECT_EQ(error_of(R"({"tag":"1","version":1,"at":0})"),
            "1:8: tag: expected an integer, found text \"1\"");
  EXPECT_EQ(error_of(R"({"tag":65536,"version":1,"at":0})"),
            "1:8: tag: expected 0 to 65535, found integer 65536");
  EXPECT_EQ(error_of(R"({"tag":99,"version":1,"at":0})"), "1:1: no event has tag 99");
  EXPECT_EQ(error_of(R"({"tag":2,"version":2,"at":0})"),
            "1:1: version 2 of tag 2 is unknown; the newest one known is 1");
  EXPECT_THAT(error_of(R"({"tag":2,"version":0,"at":0})"), HasSubstr("version 0"));
  EXPECT_THAT(error_of(R"({"tag":2,"version":1,"at":1.5})"), HasSubstr("at: expected an integer"));
  EXPECT_EQ(error_of(R"({"tag":7,"version":1,"at":0,"id":1})"), "1:1: spec is missing");
}

TEST(CodecTest, WrongFieldsAreNamedByTheirPath) {
  EXPECT_EQ(error_of(lost(R"("nod":"n")")), "1:29: unknown field \"nod\"");
  EXPECT_EQ(decode_event(lost(R"("nod":"n")")).error().hint, "did you mean \"node\"?");
  EXPECT_EQ(error_of(lost(R"("node":5)")), "1:36: node: expected text, found integer 5");
  EXPECT_EQ(error_of(lost(R"("node":null)")), "1:36: node: expected text, found null");
  EXPECT_THAT(error_of(lost(R"("node":"a","node":"b")")), HasSubstr("1:"));
  const auto job = [](std::string_view spec) {
    return error_of(R"({"tag":7,"version":1,"at":0,"spec":)" + std::string(spec) + "}");
  };
  EXPECT_EQ(job(R"({"gangs":[{},{"groups":[{"roles":[{"count":-1}]}]}]})"),
            "1:79: spec.gangs[1].groups[0].roles[0].count: expected 0 to 4294967295, "
            "found integer -1");
  EXPECT_EQ(job(R"({"gangs":{}})"), "1:45: spec.gangs: expected a list, found a map of 0");
  EXPECT_EQ(job(R"({"labels":{"a":1}})"), "1:51: spec.labels.a: expected text, found integer 1");
  EXPECT_THAT(job(R"({"gangs":[{"groups":[{"roles":[{"alternatives":[{"devices":[)"
                  R"({"where":"a &"}]}]}]}]}]})"),
              HasSubstr("where: expected an operator or the end, found \"&\", at 1:3 of it"));
}

TEST(CodecTest, OddValuesAreRefused) {
  const auto health = [](std::string_view word) {
    return error_of(R"({"tag":4,"version":1,"at":0,"health":)" + std::string(word) + "}");
  };
  EXPECT_EQ(health("\"failed\""), "none");
  EXPECT_THAT(health("\"faild\""), HasSubstr("health: \"faild\" is not one of online, degraded"));
  EXPECT_THAT(health("2"), HasSubstr("health: expected text"));
  EXPECT_THAT(error_of(R"({"tag":3,"version":1,"at":0,"cordoned":1})"), HasSubstr("true or false"));
  const auto devices = [](std::string_view list) {
    return error_of(R"({"tag":9,"version":1,"at":0,"actions":[{"devices":)" + std::string(list) +
                    "}]}");
  };
  EXPECT_EQ(devices("[127,0]"), "none");
  EXPECT_THAT(devices("[128]"), HasSubstr("actions[0].devices: 128"));
  EXPECT_THAT(devices("[3,3]"), HasSubstr("3 stands twice"));
  EXPECT_THAT(devices("[256]"), HasSubstr("0 to 255"));
  for (const std::string_view hex : {"\"0\"", "\"0g\"", "\"FF\"", "5"}) {
    EXPECT_THAT(error_of(lost("\"node\":{\"hex\":" + std::string(hex) + "}")), HasSubstr("node: "));
  }
  EXPECT_THAT(error_of(lost(R"("node":{"hex":"","x":""})")), HasSubstr("expected text"));
  const auto id = [](std::string_view number) {
    return error_of(R"({"tag":8,"version":1,"at":0,"id":)" + std::string(number) + "}");
  };
  EXPECT_EQ(id("18446744073709551615"), "none");
  EXPECT_THAT(id("18446744073709551616"), HasSubstr("integer of 0 or more"));
  EXPECT_THAT(id("-1"), HasSubstr("integer of 0 or more"));
  EXPECT_THAT(id("1.5"), HasSubstr("integer of 0 or more"));
}

// --- Older versions -----------------------------------------------------------------------------

Value with_renamed(const Value& event, std::string_view old_name, std::string_view name) {
  Value::Map members;
  for (const Value::Member& member : event.members()) {
    const std::string_view key = member.key == old_name ? name : std::string_view(member.key);
    members.push_back({std::string(key), member.place, member.value.copy()});
  }
  return Value::map(std::move(members), event.place());
}

/// Version 1 of task_refused said "why", version 2 "cause".
constexpr std::array<Upcaster, 2> invented{
    {{.tag = TaskRefused::tag,
      .from = 1,
      .lift = [](const Value& event) -> Result<Value> {
        return with_renamed(event, "why", "cause");
      }},
     {.tag = TaskRefused::tag, .from = 2, .lift = [](const Value& event) -> Result<Value> {
        return with_renamed(event, "cause", "reason");
      }}}};

std::string reason_of(std::string_view line) {
  const auto decoded = decode_event(line, invented);
  if (!decoded) return decoded.error().what;
  return std::get<TaskRefused>(decoded->first).reason;
}

TEST(CodecTest, OlderVersionsAreLiftedStepByStep) {
  EXPECT_EQ(version_of(TaskRefused::tag, invented), 3);
  EXPECT_EQ(version_of(TaskExited::tag, invented), 1);
  EXPECT_EQ(reason_of(R"({"tag":12,"version":1,"at":0,"why":"full"})"), "full");
  EXPECT_EQ(reason_of(R"({"tag":12,"version":2,"at":0,"cause":"full"})"), "full");
  EXPECT_EQ(reason_of(R"({"tag":12,"version":3,"at":0,"reason":"full"})"), "full");
  EXPECT_EQ(reason_of(R"({"tag":12,"version":2,"at":0,"why":"full"})"), "unknown field \"why\"");
  EXPECT_EQ(reason_of(R"({"tag":12,"version":4,"at":0})"),
            "version 4 of tag 12 is unknown; the newest one known is 3");
  EXPECT_TRUE(decode_event(R"({"tag":11,"version":1,"at":0})", invented).has_value());
}

TEST(CodecTest, UpcastersFailAsTheLineDoes) {
  const std::array<Upcaster, 1> failing{
      {{.tag = 2, .from = 1, .lift = [](const Value&) -> Result<Value> {
          return fail(Code::invalid, "such nodes never were");
        }}}};
  EXPECT_EQ(decode_event(lost("\"node\":\"n\""), failing).error().what, "such nodes never were");
}

TEST(CodecTest, ShippedUpcastersLeaveNoGap) {
  each_alternative([](const auto& event) { EXPECT_GE(version_of(event.tag, upcasters()), 1); });
}

}  // namespace tutti::codec_test
