#!/bin/sh
# Where no device answers, a program for one says so in one line and ends with status 3: no_device.sh PROGRAM
export CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES=-1 ROCR_VISIBLE_DEVICES=-1
said=$("$1" port.echo 2>&1)
status=$?
echo "$said"
[ $status = 3 ] && [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] && printf '%s\n' "$said" | grep -q '^heddle: no device answers'
