# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# srun.sh FOLDER WATCH: what slurm.test does inside a Slurm of two nodes.
cd "$1" || exit 1
watch=$2
train="./train --data text --iterations 4"
endless="./train --data text --iterations 1000000"

rm -f ./*.out

# await FILE TEXT: waits until the file contains the text.
await() {
  for _ in $(seq 200); do
    grep -q "$2" "$1" 2>/dev/null && return
    sleep 0.1
  done
  echo "$1 does not come to '$2'"
}

echo "== on two nodes"
$watch -- srun -N 2 -n 3 $train --save nodes.safetensors

echo "== side by side"
for i in 1 2; do
  srun -N 1 -n 3 $train --save job-$i.safetensors --quiet >job-$i.out 2>&1 &
  jobs="$jobs $!"
done
codes=
for job in $jobs; do wait "$job"; codes="$codes $?"; done
cat >steps <<'END'
#!/bin/sh
for i in 1 2; do
  srun --exact -n 3 "$@" --save step-$i.safetensors --quiet >step-$i.out 2>&1 &
  steps="$steps $!"
done
for step in $steps; do wait "$step"; echo " $?"; done
END
codes="$codes$(salloc -Q -N 1 -n 6 sh steps $train)"
echo exit codes $codes
cat job-?.out step-?.out

echo "== a wrong number"
$watch -- srun -n 2 $train

echo "== one is killed"
$watch --signal "2:KILL:iteration 30/" -- srun -N 2 -n 3 $endless

echo "== tasks where a file puts them"
printf '127.0.0.2\n127.0.0.1\n127.0.0.2\n' >hosts
export SLURM_HOSTFILE=hosts
$watch -- srun -Q -n 3 -m arbitrary $train
$watch -- srun -Q -n 3 -m arbitrary $train --save hosts.safetensors \
  --rdzv "file://$PWD/meeting"
unset SLURM_HOSTFILE

echo "== a batch script"
cat >batch <<'END'
#!/bin/sh
srun ./train --data text --iterations 2 --decay 4 --save half.safetensors &&
  srun ./train --data text --iterations 4 --resume half.safetensors --save batch.safetensors
END
sbatch -Q -N 2 -n 3 -o batch.out batch
await batch.out "saved iteration 4"
cat batch.out

echo "== a job is cancelled"
printf '#!/bin/sh\nsrun %s --save job.safetensors\n' "$endless" >batch
job=$(sbatch --parsable -N 2 -n 3 -o job.out batch)
await job.out "iteration 30/"
scancel "$job"
await job.out "stopped by"
grep -E "^(error|saved|stopped)" job.out

echo "== a step is asked to stop"
srun -Q -N 2 -n 3 $endless --save step.safetensors >step.out 2>&1 &
step=$!
await step.out "iteration 30/"
scancel -s TERM "$(squeue --steps -h -o %i | grep '\.0$')"
wait $step
code=$?
grep -E "^(error|saved|stopped)" step.out
echo "exit code $code"
