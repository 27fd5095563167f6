"""How lit runs the tests of this folder."""

import os

import lit.formats

config.name = "rondo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# gtest's folder, and what tests read.
config.excludes = ["unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.rondo_test_root

config.environment["PATH"] = os.pathsep.join(
    [config.rondo_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
# OpenBLAS would start a thread a core in every test.
config.environment["OPENBLAS_NUM_THREADS"] = "1"

config.substitutions.append(("%rondo_src_root", config.rondo_src_root))
config.substitutions.append(("%rondo_build_root", config.rondo_build_root))
config.substitutions.append(("%python", config.python))

# Material beside the repository: large problems and an independent checker of
# schedules. Tests that read it say `REQUIRES: shared`.
shared = os.environ.get("RONDO_SHARED") or os.path.join(
    os.path.dirname(config.rondo_src_root), "shared"
)
config.substitutions.append(("%shared", shared))
if os.path.isdir(shared):
    config.available_features.add("shared")

# Programs for GPUs can be linked.
if config.rondo_cuda:
    config.available_features.add("cuda")

if config.rondo_sanitize:
    config.available_features.add("asan")
    # LLVM's own globals stay allocated at exit.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
