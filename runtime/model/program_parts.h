//===- program_parts.h - Parts that programs name ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program names the objects that its tables can use, and the linker takes
// their code alone from the libraries of the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_PROGRAM_PARTS_H
#define RONDO_RUNTIME_MODEL_PROGRAM_PARTS_H

namespace rondo::runtime {

/// The devices that an executable runs on. Each target other than the CPU has
/// its own library next to the runtime, which defines the object that the
/// emitted program names: without that library the program does not link.
/// Opaque to emitted code; see runtime/backend/backend.h.
struct Backend;
/// The CPU; several processes have a rank each and connect by TCP.
extern const Backend tcpBackend;
/// In librondo_mpi.a: the CPU; several processes have a rank each and connect
/// by MPI.
extern const Backend mpiBackend;
/// In librondo_cuda.a.
extern const Backend cudaBackend;

// The optional parts: runtime/trainer/extras.h.

/// Searches for schedules while a program trains. In librondo_search.a; see
/// runtime/adaptive/schedule_search.h.
struct ScheduleSearch;
extern const ScheduleSearch scheduleSearch;
/// Changes the schedule while a program trains.
struct AdaptiveRuns;
extern const AdaptiveRuns adaptiveRuns;
/// Imposes links, for experiments.
struct LinkEmulation;
extern const LinkEmulation linkEmulation;
/// Checks the gradients of custom layers.
struct BodyCheck;
extern const BodyCheck bodyCheck;
/// Copies activations to the host and back (runtime/execution/copies.h).
struct CopySupport;
extern const CopySupport activationCopies;
/// In librondo_cuda.a.
extern const CopySupport activationCopiesOfGpus;
/// Finds a schedule for each batch of documents. In librondo_search.a.
struct BatchSearch;
extern const BatchSearch batchSearch;
/// Draws documents and packs a batch of them for each iteration.
struct BatchRuns;
extern const BatchRuns batchRuns;
/// Reads samples of declared streams (runtime/streams/streams.h).
struct StreamReading;
extern const StreamReading streamReading;
/// Continues a text.
struct TextGeneration;
extern const TextGeneration textGeneration;

/// Null: the program cannot do it.
struct Extras {
  /// In an executable whose pipelines were chosen for a network that changes,
  /// so that it adapts by default.
  const ScheduleSearch *search = nullptr;
  /// With several pipelines or a search.
  const AdaptiveRuns *adaptive = nullptr;
  /// On demand of the command line, or with a search.
  const LinkEmulation *links = nullptr;
  /// With custom layers.
  const BodyCheck *bodyCheck = nullptr;
  /// With a head whose logits are known.
  const TextGeneration *generation = nullptr;
  /// With copies of activations.
  const CopySupport *copies = nullptr;
  /// Both with limits of batches (BatchLimitsDesc).
  const BatchSearch *batchSearch = nullptr;
  const BatchRuns *batches = nullptr;
  /// With layers that declare streams.
  const StreamReading *streams = nullptr;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_PROGRAM_PARTS_H
