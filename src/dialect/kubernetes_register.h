/// The annotations in which vGPU plugins list the cards of a node; private to dialect/.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace tutti {

class Catalog;

/// HAMi: a JSON list of {id, devmem, type, numa, health}, or "id,count,MiB,cores,type,numa,health"
/// joined by ':'. Volcano: "id,count,MiB,type,health,mode" joined by ':'. Errors carry no place.
Result<std::vector<DeviceSpec>> parse_register(std::string_view text, const Catalog* catalog);

}  // namespace tutti
