/// The keeper: a small process for each task, which outlives the server that started it.
///
/// `tutti keeper FOLDER` reads the launch record in the task folder (task_folder.h), writes down
/// who the task is, starts it, takes its output, waits until it and all that it has left behind are
/// gone, and writes how that went. SIGTERM makes it stop the task by the steps of the order; it
/// never leaves the task alone. A second keeper of one attempt finds the lock taken, or the records
/// of the first one, and does nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tutti {

/// Told before each step, by name. Tests end the process there.
using StepHook = std::function<void(std::string_view step)>;

/// The whole life of a keeper; returns the exit code of its process. REQUIRES: one thread, and a
/// process of its own with open standard streams.
int keep(const std::string& folder, const StepHook& before = {});

}  // namespace tutti
