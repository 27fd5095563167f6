# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two agents of torchrun, as on two machines, with two processes each.

agents.py FLAGS... -- PROGRAM ARGUMENTS...
"""

import socket
import subprocess
import sys

split = sys.argv.index("--")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
command = ["torchrun", "--no-python", "--nnodes", "2", "--nproc-per-node", "2",
           "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:%d" % port,
           "--rdzv-id=test", *sys.argv[1:split], *sys.argv[split + 1:]]
agents = [subprocess.Popen(command) for _ in range(2)]
print("agents ended with", *[agent.wait() for agent in agents], flush=True)
