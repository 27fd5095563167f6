# other-flags.sh PROGRAM FLAGS... -- FLAGS...: three processes as torchrun starts
# them; those behind -- are for rank 0 alone, whose status is returned.
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
