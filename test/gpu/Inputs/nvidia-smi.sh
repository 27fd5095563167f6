#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Stands in for the tool of the driver.
echo "NVIDIA H200"
