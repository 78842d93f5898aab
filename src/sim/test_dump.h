/// Small dumps of clusters for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/kubernetes.h"
#include "model/catalog.h"

namespace tutti {

inline std::string node(std::string_view name, bool cordoned = false) {
  return R"({"kind": "Node", "metadata": {"name": ")" + std::string(name) +
         R"("}, "spec": {"unschedulable": )" + (cordoned ? "true" : "false") +
         R"(}, "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "100",)"
         R"( "nvidia.com/gpu": "8"}}})";
}

/// `created` is a second of the first minute; an empty `node` is pending.
inline std::string pod(std::string_view name, int gpus, std::string_view node, int created) {
  const std::string second = (created < 10 ? "0" : "") + std::to_string(created);
  const std::string bound = node.empty() ? "" : R"("nodeName": ")" + std::string(node) + R"(", )";
  return R"({"kind": "Pod", "metadata": {"name": ")" + std::string(name) +
         R"(", "namespace": "x", "creationTimestamp": "2024-01-01T00:00:)" + second +
         R"(Z"}, "spec": {)" + bound +
         R"("containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": )" +
         std::to_string(gpus) + R"(}}}]}, "status": {"phase": ")" +
         (node.empty() ? "Pending" : "Running") + R"("}})";
}

inline Snapshot dump(const std::vector<std::string>& objects) {
  std::string text = R"({"apiVersion": "v1", "items": [)";
  for (std::size_t at = 0; at < objects.size(); ++at) text += (at == 0 ? "" : ",") + objects[at];
  text += "]}";
  const Catalog catalog = Catalog::builtin().value();
  Skipped skipped;
  auto snapshot = read_snapshot(source_of(text), "live", &catalog, skipped);
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().text();
  return std::move(snapshot).value_or(Snapshot{});
}

}  // namespace tutti
