/// tutti catalog: what is known of devices.
#include "model/catalog.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "dialect/devices.h"
#include "format/quantity.h"
#include "format/text.h"
#include "model/attribute.h"
#include "sim/files.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

std::string memory_text(const DeviceType& type) {
  return type.memory_mib == 0 ? "-" : bytes_text(type.memory_mib << 20U);
}

std::string joined(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return views.empty() ? "" : join_names(views, 100);
}

std::string listed(const std::vector<const Catalog::Entry*>& entries) {
  Table table({"name", "vendor", "kind", "memory", "MIG", "family"});
  for (const Catalog::Entry* entry : entries) {
    table.add({entry->type.model, entry->type.vendor, std::string(to_text(entry->type.kind)),
               memory_text(entry->type), entry->mig, joined(entry->families)});
  }
  return table.text();
}

std::string value_text(const Attribute& attribute) {
  if (!attribute.text.empty()) return attribute.text;
  if (!in_thousandths(attribute.name)) return std::to_string(attribute.number);
  return fmt::format("{:g}", static_cast<double>(attribute.number) / 1000);
}

std::string explain(const Catalog::Entry& entry) {
  std::string out = fmt::format("{}\n", entry.type.model);
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:26}{}\n", name, value);
  };
  line("vendor", entry.type.vendor);
  line("kind", std::string(to_text(entry.type.kind)));
  line("memory", memory_text(entry.type));
  line("family", joined(entry.families));
  line("aliases", joined(entry.aliases));
  line("MIG layout", entry.mig);
  for (const Attribute& attribute : entry.type.attributes) {
    line(attribute.name, value_text(attribute));
  }
  line("source", entry.source);
  line("entry", entry.where);
  return out;
}

struct CatalogOptions {
  std::string name;
  std::vector<std::string> catalogs;
};

Result<void> show_devices(const CatalogOptions& options) {
  const std::string& name = options.name;
  const Catalog catalog = TRY(load_catalog(options.catalogs));
  if (name.empty()) return print(listed(catalog.all()));
  const std::vector<const Catalog::Entry*> found = models_called(&catalog, name);
  if (found.size() == 1) return print(explain(*found.front()));
  if (!found.empty()) return print(listed(found));
  const auto near = closest(name, model_words(catalog));
  return fail(Code::not_found, "the catalog knows no device " + quote(name),
              near ? fmt::format("did you mean {}?", *near) : "tutti catalog lists all");
}

}  // namespace

void declare_catalog(CLI::App& app, Run& run) {
  auto options = std::make_shared<CatalogOptions>();
  CLI::App* catalog = app.add_subcommand("catalog", "List the devices that are known, or show one");
  catalog->add_option("name", options->name, "A device, an alias of it, or a family")
      ->type_name("NAME");
  catalog->footer(
      "Examples:\n  tutti catalog\n  tutti catalog H100\n"
      "  tutti catalog --catalog mine.yaml Acme-N1");
  declare_own_devices(*catalog, options->catalogs);
  on_call(*catalog, run, [options] { return show_devices(*options); });
}

}  // namespace tutti
