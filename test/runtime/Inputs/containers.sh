# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# containers.sh ADDRESS ADDRESS PROGRAM FLAGS...: runs four processes in two
# containers of this machine, each with its own address; they share no loopback
# interface, and know no names of each other. Prints their exit codes.
#
# In the environment:
#   SAYS=TEXT          the others start once rank 0 has printed TEXT, or has ended
#   STRANGERS=SECONDS  from a third container, whose network leads to the first
#                      address alone, strangers.py, run by PYTHON, calls there
#                      while the processes run; rank 3 starts 2 s late
first=$1 second=$2
shift 2
folder=$(dirname "$0")
ip link set lo up

# Sets `container` to the process that holds a new one, which a cable from this
# end, $1 with the address $2, joins at its end, $3 with the address $4.
contain() {
  unshare --net sleep 60 &
  container=$!
  until [ "$(readlink /proc/$container/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.05
  done
  ip link add name "$1" type veth peer name "$3"
  ip link set "$3" netns $container
  ip address add "$2" dev "$1"
  ip link set "$1" up
  enter="nsenter --target $container --net"
  $enter ip link set lo up
  $enter ip address add "$4" dev "$3"
  $enter ip link set "$3" up
  containers="$containers $container"
}

if [ -n "$STRANGERS" ]; then
  contain street 10.98.0.1/24 stranger 10.98.0.2/24
  $enter ip route add "${first%/*}" via 10.98.0.1
  street=$enter
fi
contain inside "$first" outside "$second"
# An IPv6 address may be used once no other machine has it.
while ip address show tentative | grep -q "${first%/*}" ||
  $enter ip address show tentative | grep -q "${second%/*}"; do
  sleep 0.1
done

export WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR="${first%/*}" MASTER_PORT=29500
said=$(mktemp)
processes= strangers=
for rank in 0 1 2 3; do
  where=
  [ $rank -lt 2 ] || where=$enter
  if [ $rank = 3 ] && [ -n "$STRANGERS" ]; then
    $street "$PYTHON" "$folder/strangers.py" "$STRANGERS" $zero "${first%/*}" &
    strangers=$!
    sleep 2
  fi
  RANK=$rank LOCAL_RANK=$((rank % 2)) $where unshare --uts sh -c \
    'hostname nobody-knows-$RANK; exec "$@"' sh "$@" >> "$said" 2>&1 &
  processes="$processes $!"
  if [ $rank = 0 ]; then
    zero=$!
    while [ -n "$SAYS" ] && kill -0 $zero && ! grep -q "$SAYS" "$said"; do
      sleep 0.05
    done
  fi
done
codes=
for process in $processes; do wait "$process"; codes="$codes $?"; done
[ -z "$strangers" ] || wait $strangers
kill $containers
cat "$said"
rm "$said"
echo "exit codes$codes"
