# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""I and W by deferred closures: linear layers leave the computation of their weight
gradients in I, and W does it. All other parameters get their gradients in I.

It works with custom functions and with any checkpointing.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

Closure = Callable[[], None]

# The closures of the backward that runs, if it is an I. Not by thread: a backward on
# a GPU runs in a thread of its own.
_collected: list[Closure] | None = None


def defer(closure: Closure) -> None:
    """Keeps a closure for W of the backward that runs; runs it now in a B."""
    if _collected is not None:
        _collected.append(closure)
    else:
        with torch.no_grad():
            closure()


class Split:
    """A way to split a backward. `outputs` are those that require gradients, in the order
    of `grads`, which is None for a loss; `inputs` are those that require gradients."""

    def input_grad(
        self,
        outputs: Sequence[Any],
        grads: Sequence[Any] | None,
        inputs: Sequence[Any],
        parameters: Sequence[Any],
        stage: int = 0,
    ) -> Any:
        """I: leaves gradients in the inputs. The result is for weight_grad."""
        raise NotImplementedError

    def weight_grad(self, token: Any, parameters: Sequence[Any]) -> None:
        """W: adds to the gradients of the parameters."""
        raise NotImplementedError

    def backward(self, outputs: Sequence[Any], grads: Sequence[Any] | None) -> None:
        """B: both."""
        torch.autograd.backward(list(outputs), None if grads is None else list(grads))


class Store(Split):

    def input_grad(
        self,
        outputs: Sequence[Any],
        grads: Sequence[Any] | None,
        inputs: Sequence[Any],
        parameters: Sequence[Any],
        stage: int = 0,
    ) -> Any:
        global _collected
        closures: list[Closure] = []
        _collected = closures
        try:
            self.backward(outputs, grads)
        finally:
            _collected = None
        return closures

    def weight_grad(self, token: Any, parameters: Sequence[Any]) -> None:
        with torch.no_grad():
            for closure in token:
                closure()
        token.clear()


def add_gradient(parameter: Any, grad: Any) -> None:
    """Adds to a parameter's gradient, as autograd does, but without hooks."""
    if parameter.grad is None:
        parameter.grad = grad
    else:
        parameter.grad.add_(grad)


class _Linear(torch.autograd.Function):
    """torch.nn.Linear whose parameters autograd does not see. `anchor` makes the output
    require a gradient if the input does not."""

    @staticmethod
    def forward(ctx: Any, x: Any, anchor: Any, hidden: tuple[Any]) -> Any:
        (module,) = hidden
        ctx.save_for_backward(x)
        ctx.module = module
        # Taken during the forward: an optimizer may replace them.
        ctx.weight = module.weight
        return torch.nn.functional.linear(x, module.weight, module.bias)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        module, weight = ctx.module, ctx.weight

        def run() -> None:
            flat = grad.reshape(-1, grad.shape[-1])
            if weight.requires_grad:
                add_gradient(weight, flat.t().mm(x.reshape(-1, x.shape[-1])))
            if module.bias is not None and module.bias.requires_grad:
                add_gradient(module.bias, flat.sum(0))

        defer(run)
        return grad.matmul(weight) if ctx.needs_input_grad[0] else None, None, None


def defer_linear(module: torch.nn.Module) -> int:
    """Makes all torch.nn.Linear below a module leave their weight gradients for W, and
    returns their number. Frozen ones stay as they are."""
    count = 0
    for child in module.modules():
        if type(child) is torch.nn.Linear and child.weight.requires_grad:
            anchor = torch.empty(0, requires_grad=True)

            def forward(x: Any, child: Any = child, anchor: Any = anchor) -> Any:
                return _Linear.apply(x, anchor, (child,))

            child.forward = forward
            count += 1
    return count
