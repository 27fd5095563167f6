# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# containers.sh ADDRESS ADDRESS PROGRAM FLAGS...: runs four processes in two
# containers of this machine, each with its own address; they share no loopback
# interface, and know no names of each other. Prints their exit codes.
first=$1 second=$2
shift 2
ip link set lo up
unshare --net sleep 60 &
container=$!
until [ "$(readlink /proc/$container/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
  sleep 0.05
done
enter="nsenter --target $container --net"
ip link add inside type veth peer name outside
ip link set outside netns $container
ip address add "$first" dev inside
ip link set inside up
$enter ip link set lo up
$enter ip address add "$second" dev outside
$enter ip link set outside up
# An IPv6 address may be used once no other machine has it.
while ip address show tentative | grep -q "${first%/*}" ||
  $enter ip address show tentative | grep -q "${second%/*}"; do
  sleep 0.1
done

export WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR="${first%/*}" MASTER_PORT=29500
processes=
for rank in 0 1 2 3; do
  where=
  [ $rank -lt 2 ] || where=$enter
  RANK=$rank LOCAL_RANK=$((rank % 2)) $where unshare --uts sh -c \
    'hostname nobody-knows-$RANK; exec "$@"' sh "$@" &
  processes="$processes $!"
done
codes=
for process in $processes; do wait "$process"; codes="$codes $?"; done
kill $container
echo "exit codes$codes"
