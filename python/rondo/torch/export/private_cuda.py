# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Private names of PyTorch and Triton by which graphs compile for CUDA without a GPU.
Tried with PyTorch 2.15 and Triton 3.9.

PyTorch asks the GPU for its properties, and runs each kernel to choose among block
sizes. Here it asks a description instead, and each kernel has its first choice: the
same code on every machine, with a GPU or without one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import platform
import re
import threading
import types
from pathlib import Path
from typing import Any, Iterator, Sequence
from unittest import mock

import torch
from torch._inductor import aot_compile
from torch._subclasses import fake_tensor
from torch.fx import GraphModule

from . import private
from .gpus import GPUS

_lock = threading.Lock()


class AtomicSums(Exception):
    """A kernel adds by atomics: the order, and so the bits, differ from run to run."""


def generate(
    module: GraphModule,
    examples: Sequence[torch.Tensor],
    in_place: bool,
    capability: int,
) -> tuple[Path, dict[str, Any], list[Path]]:
    """As private.generate(), for CUDA; kernels are in the objects. `examples` are on
    the CPU, and so is the graph, which stays as it is."""
    options: dict[str, Any] = {
        "aot_inductor.link_libtorch": False,
        "aot_inductor.package": True,
        "aot_inductor.package_cpp_only": True,
        "aot_inductor.embed_kernel_binary": True,
        "allow_buffer_reuse": False,
        "layout_optimization": False,
        "compile_threads": 1,
        "deterministic": True,
        # On the CPU, before: it computes.
        "joint_graph_constant_folding": False,
        # Products are Rondo's.
        "max_autotune": False,
        "triton.autotune_at_compile_time": True,
        "use_static_cuda_launcher": False,
    }
    if not in_place:
        options["inplace_buffers"] = False
    moved = _on_cuda(module, examples)
    # PyTorch keeps what it finds. With a described GPU it would find no vectors, and
    # graphs for the CPU would be refused later.
    private.instruction_set()
    with _lock, _described(capability):
        with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
            on_cuda = [
                torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda:0")
                for x in examples
            ]
        files = aot_compile(moved, tuple(on_cuda), options=options)
    source, how, objects = private.generated(files)
    text = source.read_text()
    # The search below reads the kernels' text, which PyTorch writes next to them.
    if "launchKernel(kernels_." in text and "tl.program_id" not in text:
        raise RuntimeError(f"{source} has kernels without their text")
    kernel = re.search(r"\n *def (\w+)\((?:(?!\n *def ).)*?tl\.atomic", text, re.S)
    if kernel:
        raise AtomicSums(kernel[1])
    return source, how, objects


def _on_cuda(module: GraphModule, examples: Sequence[torch.Tensor]) -> GraphModule:
    """A copy of a graph whose tensors are on a GPU."""
    from torch._inductor.fx_passes.joint_graph import constant_fold_uniform_value

    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    moved = GraphModule(module, graph)
    private.add_shapes(moved, examples)
    constant_fold_uniform_value(moved)
    for node in moved.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda:0")}
        node.meta.pop("val", None)
    moved.recompile()
    return moved


def described(capability: int) -> str:
    """All that compiled kernels depend on, except PyTorch and their graph."""
    import triton  # type: ignore[import]

    return f"{GPUS[capability]} Triton {triton.__version__} {platform.machine()}"


class _Driver:
    """What Triton asks about the GPU."""

    def __init__(self, capability: int):
        self.capability = capability

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # type: ignore[import]

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda:0")


@contextlib.contextmanager
def _described(capability: int) -> Iterator[None]:
    """Within it PyTorch finds one GPU of this capability, which cannot run."""
    from torch._dynamo import device_interface
    from torch._inductor import ir, lowering, select_algorithm
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.fx_passes import joint_graph
    from torch._inductor.kernel import mm
    from torch._inductor.runtime import triton_heuristics

    import triton

    # The package has an object of this name.
    driver = importlib.import_module("triton.runtime.driver")
    gpu = GPUS[capability]
    major, minor = divmod(capability, 10)
    properties = types.SimpleNamespace(
        name=f"sm_{capability}",
        major=major,
        minor=minor,
        multi_processor_count=gpu.multiprocessors,
        warp_size=32,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=gpu.threads,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=gpu.shared_memory,
        shared_memory_per_multiprocessor=gpu.shared_memory + 1024,
        L2_cache_size=50 << 20,
        total_memory=80 << 30,
        gcnArchName="",
    )
    cuda: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: properties.name,
        "is_bf16_supported": lambda *_, **__: True,
        "get_rng_state": lambda *_: torch.empty(0),
        "set_rng_state": lambda *_: None,
        "device": lambda *_: contextlib.nullcontext(),
        "synchronize": lambda *_: None,
    }
    autotuner = triton_heuristics.CachingAutotuner
    of_worker = autotuner._precompile_worker

    def first_choice(self: Any) -> None:
        if self.configs:
            self.configs = self.configs[:1]
        of_worker(self)

    def keep_kernel(self: Any) -> None:
        self.save_gpu_kernel(0, self.compile_results[0].make_launcher())

    def compile_kernels(self: Any) -> None:
        # Without the calls, which follow.
        self.kernel_autotune_defs.splice("async_compile.wait(globals())")
        exec(self.kernel_autotune_defs.getvalue(), {})  # pylint: disable=exec-used

    def sum_of_product(
        addend: Any, a: Any, b: Any, dtype: torch.dtype, *, beta: int = 1, alpha: int = 1
    ) -> Any:
        # One product that takes bf16 and adds to fp32.
        addend, a, b = select_algorithm.realize_inputs(addend, a, b)
        sizes = [a.get_size()[0], b.get_size()[1]]
        layout = ir.FixedLayout(a.get_device(), dtype, sizes, [sizes[1], 1])
        product = mm.aten_addmm.bind((addend, a, b), layout, alpha=alpha, beta=beta)
        return product.output_node()

    attributes: list[tuple[Any, str, Any]] = [
        *((torch.cuda, name, value) for name, value in cuda.items()),
        *(
            (device_interface.CudaInterface, name, staticmethod(cuda[name]))
            for name in ("current_device", "device_count", "get_device_properties")
        ),
        (device_interface, "caching_worker_device_properties", {}),
        (device_interface, "caching_worker_current_devices", {}),
        (driver.driver, "_active", _Driver(capability)),
        (driver.driver, "_default", _Driver(capability)),
        (triton_heuristics.triton_helpers, "set_driver_to_gpu", lambda: None),
        # It traces patterns of attention and of padded products with tensors on a GPU.
        (joint_graph, "lazy_init", lambda device=None: None),
        (PythonWrapperCodegen, "generate_and_run_autotune_block", compile_kernels),
        (autotuner, "_precompile_worker", first_choice),
        (autotuner, "_make_launchers", keep_kernel),
        (autotuner, "_dynamic_scale_rblock", lambda self: None),
        (triton.compiler.CompiledKernel, "_init_handles", lambda self: None),
    ]
    was_deterministic = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    with contextlib.ExitStack() as stack:
        for owner, name, value in attributes:
            stack.enter_context(mock.patch.object(owner, name, value))
        stack.enter_context(
            mock.patch.dict(
                lowering.lowerings, {torch.ops.aten.addmm.dtype: sum_of_product}
            )
        )
        _forget_devices()
        stack.callback(_forget_devices)
        # Sums into rows by index keep their order.
        torch.use_deterministic_algorithms(True)
        stack.callback(
            torch.use_deterministic_algorithms, was_deterministic, warn_only=warns
        )
        yield


def _forget_devices() -> None:
    """Clears what PyTorch remembers of the GPUs that it has found."""
    from torch._inductor import utils
    from torch._inductor.runtime.hints import DeviceProperties
    from torch.utils import _triton

    DeviceProperties.create.cache_clear()
    for found in (*vars(utils).values(), *vars(_triton).values()):
        if isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()
