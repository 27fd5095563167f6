# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# slow-end.sh COMMAND...: torchrun's first agent notices 3 s late that it
# failed.
"$@"
status=$?
[ $status = 0 ] || [ "$GROUP_RANK" != 0 ] || sleep 3
exit $status
