/// Operation failures as values.
///
/// A function that can fail for a reason its caller must see returns `Result<T>`. Bugs are `CHECK`s
/// (check.h), infeasibility is a `Decision` (sched/decision.h); neither is an `Error`.
///
///   Result<Fleet> read(std::string_view text) {
///     const Document document = TRY(parse_yaml(text));   // Returns the error to our caller.
///     if (document.empty()) return fail(Code::invalid, "the file is empty");
///     ...
///   }
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace tutti {

/// What kind of failure it was; decides exit codes and HTTP statuses at the edges.
enum class Code {
  invalid,      ///< The input is wrong and stays wrong.
  not_found,    ///< A name that does not exist.
  conflict,     ///< The state does not allow it now.
  limit,        ///< A limit in base/limits.h was exceeded.
  io,           ///< The operating system refused.
  unsupported,  ///< Understood, but this build or backend cannot do it.
  denied,       ///< Somebody else may.
};

/// One failure: what went wrong, where, and the way out.
struct Error {
  Code code = Code::invalid;
  std::string what;   ///< "memory is negative: -4"; no trailing full stop.
  std::string where;  ///< "fleet.yaml:3:7", "job train-70b" or empty.
  std::string hint;   ///< What to do about it, or empty.

  /// "error: fleet.yaml:3:7: memory is negative: -4\nhint:  ...\n", as printed by every command.
  std::string text() const;

  /// Names the place, once, at the layer that knows it: an inner "3:7" becomes "fleet.yaml:3:7".
  Error at(std::string_view place) &&;
};

template <class T>
using Result = std::expected<T, Error>;

/// Builds the failing side of any `Result`.
[[nodiscard]] std::unexpected<Error> fail(Code code, std::string what, std::string hint = {});
[[nodiscard]] std::unexpected<Error> fail(Error error);

}  // namespace tutti

/// Unwraps a `Result`, or returns its error from the enclosing function.
#define TRY(expression) TRY_NAMED_(TRY_JOINED_(try_result_, __COUNTER__), expression)

// A name of its own for each use, so that one TRY may stand inside another.
// NOLINTBEGIN(bugprone-macro-parentheses): a declared name cannot stand in parentheses.
#define TRY_JOINED_(left, right) TRY_JOINED_LAST_(left, right)
#define TRY_JOINED_LAST_(left, right) left##right
#define TRY_NAMED_(result, expression)                                        \
  __extension__({                                                             \
    auto&& result = (expression);                                             \
    if (!result.has_value()) return ::tutti::fail(std::move(result).error()); \
    ::tutti::detail::unwrap(std::move(result));                               \
  })
// NOLINTEND(bugprone-macro-parentheses)

namespace tutti::detail {

template <class T>
T unwrap(Result<T>&& result) {
  return *std::move(result);
}
inline void unwrap(Result<void>&&) {}

}  // namespace tutti::detail
