# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of this folder."""

import os
import shutil
import subprocess

import lit.formats

config.name = "rondo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Folders of gtest, and of files that tests read.
config.excludes = ["unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.rondo_test_root

# RUN lines are shell: lit inserts paths without quotes.
if any(c.isspace() for c in config.rondo_src_root + config.rondo_build_root):
    lit_config.fatal(
        f"the tests need a checkout and a build whose paths have no blanks: "
        f"{config.rondo_src_root}, {config.rondo_build_root}"
    )

# Static tools start in a twentieth of the time. An older one may be of other code
# than the tool that was just built.
static = []
static_dir = os.path.join(config.rondo_build_root, "static")
if config.rondo_static_tools:
    for name in ("rondo", "rondo-opt", "rondo-translate"):
        tools = [os.path.join(d, name) for d in (static_dir, config.rondo_tools_dir)]
        if all(map(os.path.exists, tools)):
            static.append(os.path.getmtime(tools[0]) >= os.path.getmtime(tools[1]))
config.environment["PATH"] = os.pathsep.join(
    [static_dir] * (len(static) == 3 and all(static))
    + [config.rondo_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
# OpenBLAS would start a thread per core in every test.
config.environment["OPENBLAS_NUM_THREADS"] = "1"
# On a processor that is newer than itself OpenBLAS takes the kernels for the oldest
# ones, which have a third of the speed.
with open("/proc/cpuinfo") as file:
    if {"avx2", "fma"} <= set(file.read().split()):
        config.environment["OPENBLAS_CORETYPE"] = "Haswell"
        config.available_features.add("avx2")

# Emitted programs call the runtime, which is optimized; compiling them takes
# longer than what their own code does.
config.environment["RONDO_CXXFLAGS"] = "-O0"

config.substitutions.append(("%rondo_src_root", config.rondo_src_root))
config.substitutions.append(("%rondo_build_root", config.rondo_build_root))
config.substitutions.append(("%python", config.python))
edit = f"{config.python} {os.path.join(config.test_source_root, 'edit.py')}"
config.substitutions.append(("%edit", edit))
# The output of a search but for the time that it took, which differs in each run.
config.substitutions.append(
    ("%without_seconds", f"""{edit} 's/"seconds":[^,]*//'""")
)

# Compares checkpoints; those of several processes have several files.
config.substitutions.append(
    (
        "%same_checkpoint",
        f"{config.python} {os.path.join(config.test_source_root, 'runtime', 'Inputs', 'same-checkpoint.py')}",
    )
)

# Linked with a GPU program so that it runs on the CPU.
config.substitutions.append(
    (
        "%emulated_cuda",
        f"{config.rondo_library_dir}/libRondoCudaEmulated.a "
        f"{config.rondo_library_dir}/librondo_search.a "
        f"{config.rondo_library_dir}/librondo_runtime.a "
        f"{config.rondo_openblas} {config.rondo_sodium} -lpthread",
    )
)

# Material outside the repository: large problems and an independent checker of
# schedules. Tests that read it say `REQUIRES: shared`.
shared = os.environ.get("RONDO_SHARED") or os.path.join(
    os.path.dirname(config.rondo_src_root), "shared"
)
config.substitutions.append(("%shared", shared))
if os.path.isdir(shared):
    config.available_features.add("shared")

# Debian's copy of GoogleTest's sources.
if os.path.isdir("/usr/src/googletest/googletest/src"):
    config.available_features.add("googletest-sources")

# Tests that take long and rarely break: see scripts/nightly.sh.
if os.environ.get("RONDO_NIGHTLY"):
    config.available_features.add("nightly")

# Debian packages can be made and unpacked.
if shutil.which("dpkg-deb"):
    config.available_features.add("dpkg")

# Manual pages can be formatted.
if shutil.which("man"):
    config.available_features.add("man")

# Programs are linked by LLVM's linker.
if os.access(os.path.join(config.llvm_tools_dir, "ld.lld"), os.X_OK):
    config.available_features.add("lld")

# Programs for GPUs can be linked.
if config.rondo_cuda:
    config.available_features.add("cuda")

# Programs whose ranks are processes: `%mpirun N ./train`.
if config.rondo_mpiexec:
    config.available_features.add("mpi")
    config.substitutions.append(
        ("%mpirun", f"{config.rondo_mpiexec} --oversubscribe -np")
    )
    # Tests may run as root, and what mpirun adds after a failure is not ours.
    config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    config.environment["OMPI_MCA_orte_execute_quiet"] = "1"

# Other launchers. torchrun is called by its name, without the programs in its
# folder.
launchers = []
if os.access(config.rondo_torchrun, os.X_OK):
    folder = os.path.join(config.test_exec_root, "launchers")
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, "torchrun")
    if not os.path.lexists(link) or os.readlink(link) != config.rondo_torchrun:
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(config.rondo_torchrun, link)
    config.environment["PATH"] += os.pathsep + folder
    # Otherwise torchrun reports that it sets this.
    config.environment["OMP_NUM_THREADS"] = "1"
    config.available_features.add("torchrun")
    launchers.append("torchrun")
# Runs a command in a Slurm of two nodes, started for it alone.
slurm = "%s %s --nodes 2 --" % (
    config.python,
    os.path.join(config.test_source_root, "runtime", "Inputs", "slurm.py"),
)
in_slurm = ""
if "slurm" in config.rondo_slurm and shutil.which("srun"):
    config.available_features.update(config.rondo_slurm)
    launchers.append("slurm")
    in_slurm = slurm
config.substitutions.append(("%slurm", slurm))
config.substitutions.append(("%in_slurm_if_any", in_slurm))
config.substitutions.append(("%launchers", " ".join(launchers)))

# A Python with PyTorch and transformers, which are found without importing them.
find = "import importlib.util as u; exit(not all(map(u.find_spec, ['torch', 'transformers'])))"
found = subprocess.run([config.rondo_transformers_python, "-c", find], check=False)
if found.returncode == 0:
    config.available_features.add("transformers")
config.substitutions.append(
    ("%transformers_python", config.rondo_transformers_python)
)

# Runs a command in a container of its own.
if config.rondo_containers:
    config.available_features.add("containers")
config.substitutions.append(
    ("%container", "unshare --map-root-user --net --uts --kill-child --fork")
)

# Python wheels can be made and installed, by Debian's Python, and files hidden.
config.substitutions.append(
    (
        "%hidden",
        "unshare --map-root-user --mount sh "
        + os.path.join(config.test_source_root, "driver", "Inputs", "wheel", "hidden.sh"),
    )
)
if config.rondo_static_tools and config.rondo_containers:
    needs = ["/usr/bin/python3", "-c", "import setuptools, pip, venv, wheel"]
    if subprocess.run(needs, capture_output=True, check=False).returncode == 0:
        config.available_features.add("wheel")

if config.rondo_sanitize:
    config.available_features.add("asan")
    # LLVM's own globals stay allocated at exit.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"

# The documentation can be built as a site.
if shutil.which("mkdocs"):
    config.available_features.add("mkdocs")

# A browser that a program drives, for the pages of `rondo show`. Its bindings
# are Debian's, of Debian's Python.
if shutil.which("chromium") and shutil.which("chromedriver"):
    found = subprocess.run(["/usr/bin/python3", "-c", "import selenium"], capture_output=True, check=False)
    if found.returncode == 0:
        config.available_features.add("browser")
