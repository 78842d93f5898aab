/// A disk for tests that fails on demand: SQLite's own layer over the file system, in which the
/// n-th sync or write from now on fails, or the power goes. Journals that are opened while a
/// FaultyDisk lives are on it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <map>
#include <string>

#include "store/test_store.h"

namespace tutti::test {

class FaultyDisk {
 public:
  FaultyDisk() {
    real() = sqlite3_vfs_find(nullptr);
    vfs_ = *real();
    vfs_.zName = "faulty";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real()->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    vfs_.pAppData = this;
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1), SQLITE_OK);
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  ~FaultyDisk() { sqlite3_vfs_unregister(&vfs_); }

  static constexpr int never = -1;
  int syncs_left = never;          ///< This many syncs succeed, the next one fails once.
  bool file_sync_fails = false;    ///< The next sync of a database itself, not of its log, fails.
  int writes_left = never;         ///< This many writes succeed, later ones find the disk full.
  int write_errors_after = never;  ///< This many writes succeed, the next one fails once.

  /// Every file becomes what it was when it was last synced: all that a power cut has to leave.
  void cut_power() const {
    for (const auto& [path, bytes] : synced_) write_bytes(path, bytes);
  }

 private:
  struct File {
    sqlite3_file base;
    FaultyDisk* disk;
    std::string* path;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static sqlite3_vfs*& real() {
    static sqlite3_vfs* vfs = nullptr;
    return vfs;
  }
  static File* of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return of(file)->real(); }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    File* const mine = of(file);
    std::memset(mine->real(), 0, static_cast<std::size_t>(real()->szOsFile));
    mine->base.pMethods = nullptr;
    const int code = real()->xOpen(real(), name, mine->real(), flags, out);
    if (code != SQLITE_OK) return code;
    mine->base.pMethods = &methods();
    mine->disk = static_cast<FaultyDisk*>(vfs->pAppData);
    mine->path = new std::string(name == nullptr ? "" : name);
    // A file has its name after a power cut, and nothing in it until it was synced.
    if (!mine->path->empty()) mine->disk->synced_.emplace(*mine->path, bytes_of(*mine->path));
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    static_cast<FaultyDisk*>(vfs->pAppData)->synced_.erase(name);
    return real()->xDelete(real(), name, sync_folder);
  }
  static int close(sqlite3_file* file) {
    delete of(file)->path;
    return real(file)->pMethods->xClose(real(file));
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    FaultyDisk& disk = *of(file)->disk;
    if (disk.writes_left == 0) return SQLITE_FULL;
    if (disk.writes_left > 0) --disk.writes_left;
    if (disk.write_errors_after == 0) {
      disk.write_errors_after = never;
      return SQLITE_IOERR_WRITE;
    }
    if (disk.write_errors_after > 0) --disk.write_errors_after;
    return real(file)->pMethods->xWrite(real(file), bytes, size, at);
  }
  static int sync(sqlite3_file* file, int flags) {
    FaultyDisk& disk = *of(file)->disk;
    if (disk.syncs_left == 0) {
      disk.syncs_left = never;
      return SQLITE_IOERR_FSYNC;
    }
    if (disk.syncs_left > 0) --disk.syncs_left;
    if (disk.file_sync_fails && !of(file)->path->ends_with("-wal")) {
      disk.file_sync_fails = false;
      return SQLITE_IOERR_FSYNC;
    }
    const int code = real(file)->pMethods->xSync(real(file), flags);
    if (code == SQLITE_OK) disk.synced_[*of(file)->path] = bytes_of(*of(file)->path);
    return code;
  }

  // NOLINTBEGIN(readability-named-parameter)
  static const sqlite3_io_methods& methods() {
    using F = sqlite3_file*;
    static const sqlite3_io_methods all{
        .iVersion = 2,  // Without memory mapping.
        .xClose = close,
        .xRead = [](F f, void* to, int size,
                    sqlite3_int64 at) { return real(f)->pMethods->xRead(real(f), to, size, at); },
        .xWrite = write,
        .xTruncate = [](F f, sqlite3_int64 n) { return real(f)->pMethods->xTruncate(real(f), n); },
        .xSync = sync,
        .xFileSize = [](F f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); },
        .xLock = [](F f, int level) { return real(f)->pMethods->xLock(real(f), level); },
        .xUnlock = [](F f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
        .xCheckReservedLock =
            [](F f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
        .xFileControl = [](F f, int op,
                           void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
        .xSectorSize = [](F f) { return real(f)->pMethods->xSectorSize(real(f)); },
        .xDeviceCharacteristics =
            [](F f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
        .xShmMap =
            [](F f, int page, int size, int extend, void volatile** out) {
              return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
            },
        .xShmLock =
            [](F f, int offset, int n, int flags) {
              return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
            },
        .xShmBarrier = [](F f) { real(f)->pMethods->xShmBarrier(real(f)); },
        .xShmUnmap = [](F f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }};
    return all;
  }
  // NOLINTEND(readability-named-parameter)

  sqlite3_vfs vfs_{};
  std::map<std::string, std::string> synced_;  ///< Bytes of each file as last synced.
};

}  // namespace tutti::test
