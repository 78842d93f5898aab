/// Files of fleets, workloads and policies; the format is found by looking at the content.
///
/// The path "-" is standard input, which may be read more than once. Nobody else may read it then.
/// Errors about a file's content stand at "path:line:column"; those of the system (Code::io) name
/// the path and the system's reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kubernetes.h"
#include "dialect/workload.h"
#include "model/catalog.h"
#include "policy/registry.h"
#include "sim/openb.h"

namespace tutti {

/// The whole file, at most 512 MiB. Errors name the path and the system's reason.
Result<std::string> read_file(const std::string& path);

/// All of `text`, or nothing: written beside the target first, then renamed. Links are followed;
/// what is no regular file, such as a pipe, is written as it is.
Result<void> write_file(const std::string& path, std::string_view text);
/// Could `write_file` begin? Ask before work whose result would be lost.
Result<void> check_writable(const std::string& path);

/// Do both paths mean one regular file, also one that does not exist yet?
bool same_file(const std::string& a, const std::string& b);

enum class FileFormat : std::uint8_t {
  openb_nodes,      ///< CSV that starts with sn,cpu_milli,...
  openb_pods,       ///< CSV that starts with name,cpu_milli,...
  kubernetes,       ///< kubectl get nodes,pods -A -o json
  kubernetes_yaml,  ///< The same as YAML, which is not read.
  tutti,            ///< YAML of our own; also what has no other marks.
  other_table,      ///< CSV with other columns.
};
/// From the start of a file.
FileFormat format_of(std::string_view head);
/// Looks at the file at `path`; a blank file is an error.
Result<FileFormat> find_format(const std::string& path);

/// What is built in, then these files, in order (docs/catalog.md).
Result<Catalog> load_catalog(const std::vector<std::string>& own);

Result<FleetFile> load_fleet(const std::string& path, const Catalog& catalog, Skipped& skipped);
Result<Workload> load_workload(const std::string& path, const Catalog& catalog, Skipped& skipped);
/// Nodes, and pods where there are some. REQUIRES: find_format says kubernetes.
Result<Snapshot> load_dump(const std::string& path, const Catalog& catalog, Skipped& skipped);
/// The same; without pods it is an error.
Result<Snapshot> load_snapshot(const std::string& path, const Catalog& catalog, Skipped& skipped);

/// A built-in policy by name, or a policy file by path, which is then called as the file's stem.
Result<PolicyRecipe> load_policy(const std::string& name_or_path);

}  // namespace tutti
