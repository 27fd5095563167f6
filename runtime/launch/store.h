//===- store.h - Small values that all processes of a run see ---*- C++ -*-===//

#ifndef RONDO_RUNTIME_LAUNCH_STORE_H
#define RONDO_RUNTIME_LAUNCH_STORE_H

#include <memory>
#include <string>

namespace rondo::runtime {

/// Keys and values of a run, for what its processes must agree on before they
/// have a transport, such as identifiers of communicators. Any thread may call.
class Store {
public:
  virtual ~Store();
  /// A key is set once.
  virtual void set(const std::string &key, const std::string &value) = 0;
  /// Blocks until the key is set. Throws Error with Exit::RunFailure where that
  /// takes too long or another process has failed.
  virtual std::string get(const std::string &key) = 0;
  /// Returns once all processes of the run have called it with that name.
  virtual void barrier(const std::string &name) = 0;
};

/// For a run of one process.
std::unique_ptr<Store> makeLocalStore();

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_STORE_H
