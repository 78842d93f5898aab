/// What is known of accelerators before one is seen: models, vendors, MIG layouts.
///
/// Read from YAML (docs/catalog.md): the files that are built in, then a user's own, which may
/// replace entries. Invariants: a word names at most one device; every vendor and layout that a
/// device refers to exists; every MIG profile fits its layout. Order is that of the files and of
/// the entries in them, and ties fall to the earlier entry. A catalog is a value: references into
/// it last until it changes.
/// Complexity: look-ups are binary searches over sorted words; `add` sorts anew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/labels.h"

namespace tutti {

/// One way to cut an instance out of a card.
struct MigProfile {
  std::string name;  ///< "1g.10gb+me", as the driver prints it.
  std::int64_t memory_mib = 0;
  std::uint16_t compute_slices = 0;
  std::uint16_t size = 0;                 ///< Memory slices that one instance takes.
  std::uint16_t max = 0;                  ///< Instances on one otherwise empty card.
  std::vector<std::uint16_t> placements;  ///< Memory slices where one may start, ascending.
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

/// How a card can be cut. Two instances fit together when their memory slices do not overlap and
/// the compute slices suffice.
struct MigLayout {
  std::string name;
  std::uint16_t memory_slices = 0;
  std::uint16_t compute_slices = 0;
  std::vector<MigProfile> profiles;
  std::string where;  ///< "file:line:column" of the entry.

  /// Also by the spelling of Kubernetes resources, "1g.10gb.me". Null when there is none.
  const MigProfile* find(std::string_view profile) const;
};

/// The form in which words are compared: lower case, without blanks and punctuation other than '.'
/// and '+'.
std::string folded_word(std::string_view word);

class Catalog {
 public:
  struct Vendor {
    std::string name;
    std::string title;
    std::vector<std::string> resource_names;
    std::vector<std::string> resource_prefixes;
    std::vector<std::string> core_resource_names;
    std::vector<std::string> model_labels;
    std::vector<std::string> label_markers;
    std::string visible_devices;
    std::string container_devices;
    std::string visible_cores;
    std::string where;
  };

  /// A node label that means a model although its value is no name of it.
  struct LabelMeaning {
    std::string key;
    std::vector<std::string> values;
  };

  struct Entry {
    /// Precisions are flags ("fp8" is 1); figures are attributes named after their unit, where a
    /// source states them: fp8_tflops, int8_tops, memory_bandwidth_gb_per_s, idle_power_w,
    /// peak_power_w, compute_capability, interconnect (a word), interconnect_gb_per_s, cores. See
    /// in_thousandths() for their scale.
    DeviceType type;
    std::vector<std::string> families;
    std::vector<std::string> aliases;
    std::vector<std::string> resource_names;     ///< Where not empty, instead of the vendor's.
    std::vector<std::string> resource_prefixes;  ///< The same.
    std::string visible_devices;                 ///< The same.
    std::string container_devices;               ///< The same.
    std::vector<LabelMeaning> labels;
    std::string mig;  ///< Name of a layout, or empty.
    std::string source;
    std::string where;
  };

  /// What one unit of a Kubernetes resource is.
  struct Counted {
    const Vendor* vendor = nullptr;
    const Entry* entry = nullptr;  ///< Null unless one model alone is counted so.
    bool cores = false;            ///< Cores of a device, not devices.
    std::string_view rest;         ///< Behind a prefix: "1g.10gb" of "nvidia.com/mig-1g.10gb".
  };

  /// Knows nothing.
  Catalog() = default;

  /// The shipped files.
  static Result<Catalog> builtin();

  /// Reads one more file; what it names again, it replaces. On an error, which stands at
  /// "file:line:column", nothing has changed. What it refers to must be known by then.
  Result<void> add(std::string_view yaml, std::string_view file_name);

  /// The device of that name or alias, else the first of that family.
  std::optional<DeviceType> find(std::string_view word) const;
  const Entry* entry(std::string_view word) const;
  /// Every device that the word may mean in a request: one, or all of a family, or none.
  std::vector<const Entry*> meanings(std::string_view word) const;

  /// What the labels of a node say that its devices are, or null.
  const Entry* find_by_labels(const Labels& labels) const;
  std::optional<Counted> find_resource(std::string_view resource) const;

  const Vendor* vendor(std::string_view name) const;
  const MigLayout* layout(std::string_view name) const;
  /// The environment variables by which a process is shown these devices; may be empty.
  std::string_view visible_devices(const Entry& entry) const;
  std::string_view container_devices(const Entry& entry) const;

  std::vector<const Entry*> all() const;
  std::span<const Vendor> vendors() const { return vendors_; }
  std::span<const MigLayout> layouts() const { return layouts_; }

 private:
  struct Word {
    std::string text;  ///< Folded.
    bool family = false;
    std::uint32_t entry = 0;
    friend auto operator<=>(const Word&, const Word&) = default;
  };
  struct Resource {
    std::string name;
    bool prefix = false;
    bool cores = false;
    std::uint32_t vendor = 0;
    std::optional<std::uint32_t> entry;
    friend auto operator<=>(const Resource&, const Resource&) = default;
  };
  struct NodeLabel {
    std::string key;
    std::string value;
    std::optional<std::uint32_t> entry;  ///< None where several models share it.
  };

  Result<void> read(std::string_view yaml, std::string_view file_name, bool may_replace);
  Result<void> index();
  Result<void> check_references() const;
  Result<void> index_words();
  void index_resources();
  void index_labels();
  std::uint32_t vendor_row(std::string_view name) const;
  const Resource* resource_row(std::string_view name, bool prefix) const;
  const Entry* by_model_labels(const Labels& labels) const;

  std::vector<Vendor> vendors_;
  std::vector<MigLayout> layouts_;
  std::vector<Entry> entries_;
  std::vector<Word> words_;          ///< Sorted; names and aliases before families.
  std::vector<Resource> resources_;  ///< Sorted by name, then prefix.
  std::vector<NodeLabel> labels_;    ///< Sorted by key, then value.
};

}  // namespace tutti
