# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both ways of splitting a backward, in one process."""

import copy
import unittest

import torch
from torch import nn

from rondo.run import tensors
from rondo.run.store import Store, defer_linear
from rondo.run.walk import Walk


class Double(nn.Module):
    """Its last operation is a view, and its second output needs no input."""

    def __init__(self, is_apart):
        super().__init__()
        self.linear, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
        self.is_apart = is_apart

    def forward(self, x):
        bias = self.other.bias.sum()
        y = self.linear(x)
        return (y if self.is_apart else y * bias).view(-1), bias


def gradients(module, split, x):
    x = x.clone().requires_grad_()
    outputs = [y for y in module(x) if y.requires_grad]
    if not module.is_apart:
        outputs = outputs[:1]
    grads = [torch.ones_like(y) for y in outputs]
    parameters = [p for p in module.parameters() if p.requires_grad]
    token = split.input_grad(outputs, grads, [x], parameters)
    early = module.linear.weight.grad
    split.weight_grad(token, parameters)
    return early, x.grad, {n: p.grad for n, p in module.named_parameters()}


class Splits(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.module, self.x = Double(False), torch.randn(3, 4)

    def test_both(self):
        expected = copy.deepcopy(self.module)
        x = self.x.clone().requires_grad_()
        expected(x)[0].sum().backward()
        for split in (Walk(), Store()):
            module = copy.deepcopy(self.module)
            if isinstance(split, Store):
                self.assertEqual(defer_linear(module), 2)
            early, grad, found = gradients(module, split, self.x)
            self.assertIsNone(early)
            self.assertTrue(torch.equal(grad, x.grad))
            for name, parameter in expected.named_parameters():
                if parameter.grad is not None:
                    self.assertTrue(torch.equal(found[name], parameter.grad), name)

    def test_an_output_without_an_input(self):
        module = Double(True)
        with self.assertRaisesRegex(RuntimeError, "would give 1 of them no gradient"):
            gradients(module, Walk(), self.x)
        defer_linear(module)
        _, _, found = gradients(module, Store(), self.x)
        self.assertTrue(torch.equal(found["other.bias"], torch.ones(4)))

    def test_shapes(self):
        values = (torch.zeros(2, 0, 3), torch.ones(5, dtype=torch.bool), torch.tensor(1.0))
        values[0].requires_grad_()
        shapes = tensors.shapes_of(values)
        numbers = tensors.encode(shapes)
        self.assertEqual(tensors.decode(numbers), shapes)
        self.assertEqual(len(numbers), len(tensors.encode(tensors.shapes_of(values[0]))))
        with self.assertRaisesRegex(TypeError, "not a tensor|something else.*int"):
            tensors.shapes_of((values[0], 3))
        with self.assertRaisesRegex(ValueError, "too many tensors: 99"):
            tensors.encode(tensors.shapes_of((values[2],) * 99))


if __name__ == "__main__":
    unittest.main()
