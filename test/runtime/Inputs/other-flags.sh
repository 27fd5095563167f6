# other-flags.sh PROGRAM FLAGS... -- FLAGS...: three processes as torchrun starts
# them; those behind -- are for rank 0 alone, whose status is returned.
# Another run of this test may take place at the same time.
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000)) WORLD_SIZE=3
export TORCHELASTIC_RUN_ID=$$
common=
while [ "$1" != -- ]; do common="$common $1"; shift; done
shift
RANK=1 LOCAL_RANK=1 $common & one=$!
RANK=2 LOCAL_RANK=2 $common & two=$!
RANK=0 LOCAL_RANK=0 $common "$@"
status=$?
wait $one; [ $? = $status ] || status=99
wait $two; [ $? = $status ] || status=99
exit $status
