#include "api/what_if_routes.h"

#include "api/test_routes.h"

namespace tutti::what_if_routes_test {

using testing::HasSubstr;

class WhatIfRoutesTest : public test::RoutesTest {
 protected:
  WhatIfRoutesTest() {
    submit();  // 1 has all of n0 ...
    submit();  // ... and 2 waits.
  }
  net::Response what_if(const std::string& question) {
    return ask("POST", "/api/v1/whatif", question);
  }
};

TEST_F(WhatIfRoutesTest, MoreNodesTakeWhatWaits) {
  EXPECT_EQ(what_if(R"({"add_nodes": 1, "job": "2"})").body,
            R"({"dry_run":true,"starting":1,"would_start":[{"id":"2","name":"j","user":"ana",)"
            R"("nodes":["new-1"]}],"job":{"id":"2","starts":true,"nodes":["new-1"]}})");
  EXPECT_THAT(what_if(R"({"add_nodes": 3, "like": "n0"})").body, HasSubstr(R"("starting":1)"));
}

TEST_F(WhatIfRoutesTest, WhatIsGoneMakesRoom) {
  EXPECT_THAT(what_if(R"({"cancel": ["1"], "job": "2"})").body,
              HasSubstr(R"("job":{"id":"2","starts":true,"nodes":["n0"]})"));
}

TEST_F(WhatIfRoutesTest, SaysWhyItWouldStillWait) {
  const std::string body = what_if(R"({"drain": ["n0"], "job": "2"})").body;
  EXPECT_THAT(body, HasSubstr(R"("starts":false,"text":")"));
  EXPECT_THAT(body, HasSubstr("cordoned"));
}

TEST_F(WhatIfRoutesTest, SaysWhereWhatRunsGoesOn) {
  EXPECT_THAT(what_if(R"({"job": "1"})").body,
              HasSubstr(R"("job":{"id":"1","starts":false,"runs":true,"nodes":["n0"]})"));
  EXPECT_THAT(what_if(R"({"drain": ["n0"], "add_nodes": 1, "job": "1"})").body,
              HasSubstr(R"("nodes":["new-1"])"));
  EXPECT_THAT(what_if(R"({"cancel": ["1"], "job": "1"})").body,
              HasSubstr(R"("job":{"id":"1","starts":false,"runs":false})"));
}

TEST_F(WhatIfRoutesTest, ChangesNothing) {
  what_if(R"({"cancel": ["1"], "drain": ["n0"], "add_nodes": 9})");
  EXPECT_THAT(ask("GET", "/api/v1/jobs/1").body, Not(HasSubstr("cancelled")));
  const std::string nodes = ask("GET", "/api/v1/nodes").body;
  EXPECT_THAT(nodes, Not(HasSubstr("new-1")));
  EXPECT_THAT(nodes, HasSubstr(R"("cordoned":false,"draining":false)"));
}

TEST_F(WhatIfRoutesTest, RefusesWhatIsNotThere) {
  EXPECT_EQ(what_if(R"({"job": "7"})").status, 404);
  EXPECT_EQ(what_if(R"({"cancel": ["7"]})").status, 404);
  EXPECT_EQ(what_if(R"({"cancel": ["x"]})").status, 400);
  EXPECT_EQ(what_if(R"({"drain": ["n7"]})").status, 404);
  EXPECT_EQ(what_if(R"({"add_nodes": 1, "like": "n7"})").status, 404);
  EXPECT_EQ(what_if(R"({"add_nodes": 1001})").status, 400);
  EXPECT_EQ(what_if(R"({"add_nodse": 1})").status, 400);
  EXPECT_EQ(what_if("").status, 400);
}

TEST_F(WhatIfRoutesTest, TellsNothingOfOtherQueues) {
  user_.queues = {"elsewhere"};
  EXPECT_THAT(what_if(R"({"add_nodes": 1})").body, HasSubstr(R"("starting":0,"would_start":[])"));
  EXPECT_EQ(what_if(R"({"job": "2"})").status, 404);
}

}  // namespace tutti::what_if_routes_test
