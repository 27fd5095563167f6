# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs a model in an empty folder, with odd names of everything.

odd-names.py MODEL.mlir FOLDER
"""

import os
import subprocess
import sys

model, folder = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]
odd = "a b $(touch run) `touch run` ; touch run & 'x' %s"
model = model.replace("@chain", '@"%s"' % odd).replace("@m ", '@"-o m" ')
os.makedirs(folder)
os.chdir(folder)
for name in ("plain", odd, "-x", "--help", 'q"uote', "two\nlines", "%s%n"):
    source, program = name + ".mlir", name + ".out"
    with open(source, "w", encoding="utf-8") as file:
        file.write(model)
    subprocess.run(["rondo", "compile", "--output=" + program, "--", source], check=True,
                   stdout=subprocess.DEVNULL)
    done = subprocess.run([os.path.join(".", program), "--iterations=1",
                           "--save=" + name + ".safetensors"],
                          check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout.splitlines()[0])
    print(len(os.listdir(".")), "files:", sorted(os.listdir(".")) ==
          sorted({source, program, name + ".safetensors"}))
    for file in os.listdir("."):
        os.remove(file)
