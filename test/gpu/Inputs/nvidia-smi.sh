#!/bin/sh
# Stands in for the tool of the driver.
echo "NVIDIA H200"
