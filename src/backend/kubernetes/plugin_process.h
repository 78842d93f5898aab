/// Files and credential plugins of this machine.
#pragma once

#include "backend/kubernetes/credentials.h"
#include "net/event_loop.h"

namespace tutti {

/// The whole file, of at most 16 MiB; Code::not_found where there is none. Links are followed:
/// that is how Kubernetes replaces a mounted token.
Result<std::string> read_mounted_file(const std::string& path);

/// Runs a plugin in a process group of its own, without input. What it prints is kept up to a
/// limit. Dropping the ticket kills it, as does its time limit; `done` comes once, from the loop.
Ticket run_plugin_process(net::EventLoop& loop, const PluginOrder& order, PluginDone done);

/// REQUIRES: the loop outlives them.
Surroundings real_surroundings(net::EventLoop& loop);

}  // namespace tutti
