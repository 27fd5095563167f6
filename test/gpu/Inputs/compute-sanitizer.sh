#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Pretends to be compute-sanitizer: --tool CHECK ...
echo '========= COMPUTE-SANITIZER'
echo '[       OK ] Some.Case (1 ms)'
case $2 in
memcheck)
  echo '========= ERROR SUMMARY: 0 errors'
  exit 0
  ;;
racecheck) echo '========= Warning: Race reported between Read access at kernel()' ;;
initcheck) echo "========= Error: process didn't terminate successfully" ;;
synccheck) echo 'Other.Case takes more than 120 s' ;;
esac
exit 124
