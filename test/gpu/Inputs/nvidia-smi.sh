#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Replaces the driver's tool.
echo "NVIDIA H200"
