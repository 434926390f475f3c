#!/usr/bin/env bash
# Runs benchmarks/study_gpu.yaml on a machine with a GPU and packs what the report needs.
# usage: gpu_study.sh WORKSPACE OUT [SECTION.KEY=VALUE]...
set -euo pipefail
workspace=$1 out=$2
shift 2
recipe=$(dirname "$0")/study_gpu.yaml
python3 -m tongues prepare "$recipe" "$@" --in "$workspace"
status=0
timeout --signal=INT "${SECONDS_AT_MOST:-3600}" \
    python3 -m tongues study "$recipe" "$@" --in "$workspace" || status=$?
tar -C "$workspace" -czf "$out" --exclude=model --exclude=checkpoints runs
exit "$status"
