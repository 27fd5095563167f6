# bash completion of rondo, written by rondo-manual

_rondo_words() {
  COMPREPLY=($(compgen -W "$1" -- "$word"))
}

# The last word of a list with commas; bash puts it in place of the whole list.
_rondo_list() {
  local head=""
  [[ $word == *,* ]] && head=${word%,*},
  COMPREPLY=($(compgen -P "$head" -W "$1" -- "${word##*,}"))
}

_rondo_files() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$word"))
}

_rondo_folders() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -d -- "$word"))
}

_rondo() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    _rondo_words "compile bundle plan search compare candidates simulate show diff versions verify blame export import help --help --version"
    return
  fi
  local command=${COMP_WORDS[1]} at=2
  if [[ $command == help ]] && ((COMP_CWORD > 2)); then
    command=${COMP_WORDS[2]} at=3
  fi
  if [[ $command == import ]]; then
    if ((COMP_CWORD == at)); then _rondo_words "model cluster profile"; return; fi
    command+=-${COMP_WORDS[at]}
  fi
  case $command:$before in
    help:*) _rondo_words "compile bundle plan search compare candidates simulate show diff versions verify blame export import" ;;
    compile:--costs) _rondo_files ;;
    compile:--dtype) _rondo_words "fp32 bf16" ;;
    compile:--emit) _rondo_words "schedule lowered cpp exe" ;;
    compile:--library) _rondo_files ;;
    compile:-o) _rondo_files ;;
    compile:--optimizer) _rondo_words "adamw sgd plain_sgd" ;;
    compile:--output) _rondo_files ;;
    compile:--schedule) : ;;
    compile:--schedule-file) _rondo_files ;;
    compile:--target) _rondo_words "cpu cuda" ;;
    compile:--transport) _rondo_words "threads mpi" ;;
    compile:*)
      if [[ $word == -* ]]; then _rondo_words "--adaptive --costs --dtype --emit --impose-links --library -o --optimizer --output --schedule --schedule-file --target --transport --help"
      else _rondo_files; fi ;;
    bundle:--costs) _rondo_files ;;
    bundle:--dtype) _rondo_words "fp32 bf16" ;;
    bundle:-o) _rondo_folders ;;
    bundle:--optimizer) _rondo_words "adamw sgd plain_sgd" ;;
    bundle:--output) _rondo_folders ;;
    bundle:--schedule) : ;;
    bundle:--schedule-file) _rondo_files ;;
    bundle:--target) _rondo_words "cpu cuda" ;;
    bundle:--transport) _rondo_words "threads mpi" ;;
    bundle:*)
      if [[ $word == -* ]]; then _rondo_words "--adaptive --costs --dtype --impose-links -o --optimizer --output --schedule --schedule-file --target --transport --help"
      else _rondo_files; fi ;;
    plan:--chunks) : ;;
    plan:--costs) _rondo_files ;;
    plan:--cut) : ;;
    plan:--dtype) _rondo_words "fp32 bf16" ;;
    plan:--effort) : ;;
    plan:--evaluator) _rondo_words "1f1b spp spp-full-duplex rondo" ;;
    plan:--layout) : ;;
    plan:--microbatch-samples) : ;;
    plan:-o) _rondo_files ;;
    plan:--output) _rondo_files ;;
    plan:--problems) _rondo_files ;;
    plan:--recompute) _rondo_words "auto none all" ;;
    plan:--rows) : ;;
    plan:--samples) : ;;
    plan:--schedule-problems) _rondo_files ;;
    plan:--schedules) _rondo_files ;;
    plan:--seed) : ;;
    plan:--target) _rondo_words "cpu cuda" ;;
    plan:--threads) : ;;
    plan:--time-limit-ms) : ;;
    plan:--weights) : ;;
    plan:*)
      if [[ $word == -* ]]; then _rondo_words "--baselines --chunks --costs --cut --dtype --effort --evaluator --layout --microbatch-samples -o --output --problems --recompute --rows --samples --schedule-problems --schedules --seed --target --threads --time-limit-ms --weights --help"
      else _rondo_files; fi ;;
    search:--chunks) _rondo_list "auto" ;;
    search:--costs) _rondo_files ;;
    search:--effort) : ;;
    search:--iterations) : ;;
    search:--jitter) : ;;
    search:--microbatches) : ;;
    search:--most-delay) : ;;
    search:-o) _rondo_files ;;
    search:--objective) _rondo_words "makespan span" ;;
    search:--output) _rondo_files ;;
    search:--placement) _rondo_list "auto linear interleaved v wave" ;;
    search:--points) : ;;
    search:--policy) _rondo_list "synchronous pipedream 2bw pipemare timeprest" ;;
    search:--problem-output) _rondo_files ;;
    search:--problems) _rondo_files ;;
    search:--robust) _rondo_words "mean p95" ;;
    search:--samples) : ;;
    search:--seed) : ;;
    search:--threads) : ;;
    search:--time-limit-ms) : ;;
    search:*)
      if [[ $word == -* ]]; then _rondo_words "--chunks --costs --effort --iterations --jitter --json --microbatches --most-delay -o --objective --output --pareto --placement --points --policy --problem-output --problems --robust --samples --seed --threads --time-limit-ms --help"
      else _rondo_files; fi ;;
    compare:--chunks) _rondo_list "auto" ;;
    compare:--costs) _rondo_files ;;
    compare:--effort) : ;;
    compare:--family) _rondo_words "all gpipe 1f1b eager-1f1b kfkb zb-h1 zb-h2 zb-auto interleaved-1f1b interleaved-zb looped-bfs blockwise zbv zbv-auto v-half v-min dualpipe-v wave spp pipedream 2bw pipemare timeprest" ;;
    compare:--microbatches) : ;;
    compare:-o) _rondo_files ;;
    compare:--objective) _rondo_words "makespan span" ;;
    compare:--output) _rondo_files ;;
    compare:--placement) _rondo_list "auto linear interleaved v wave" ;;
    compare:--seed) : ;;
    compare:--threads) : ;;
    compare:--time-limit-ms) : ;;
    compare:*)
      if [[ $word == -* ]]; then _rondo_words "--all-ranks --chunks --costs --csv --effort --family --json --microbatches -o --objective --output --placement --queues --seed --threads --time-limit-ms --help"
      else _rondo_files; fi ;;
    candidates:--candidates) : ;;
    candidates:--costs) _rondo_files ;;
    candidates:--dtype) _rondo_words "fp32 bf16" ;;
    candidates:--effort) : ;;
    candidates:--memory) : ;;
    candidates:-o) _rondo_files ;;
    candidates:--output) _rondo_files ;;
    candidates:--schedule) : ;;
    candidates:--seed) : ;;
    candidates:--target) _rondo_words "cpu cuda" ;;
    candidates:--time-limit-ms) : ;;
    candidates:*)
      if [[ $word == -* ]]; then _rondo_words "--all --candidates --costs --dtype --effort --memory -o --output --schedule --seed --target --time-limit-ms --help"
      else _rondo_files; fi ;;
    simulate:--accounting) _rondo_words "times slots" ;;
    simulate:--costs) _rondo_files ;;
    simulate:--family) _rondo_words "all gpipe 1f1b eager-1f1b kfkb zb-h1 zb-h2 zb-auto interleaved-1f1b interleaved-zb looped-bfs blockwise zbv zbv-auto v-half v-min dualpipe-v wave spp pipedream 2bw pipemare timeprest" ;;
    simulate:--iterations) : ;;
    simulate:--policy) _rondo_words "synchronous pipedream 2bw pipemare timeprest" ;;
    simulate:--problem-output) _rondo_files ;;
    simulate:*)
      if [[ $word == -* ]]; then _rondo_words "--accounting --costs --explain --family --iterations --json --policy --problem-output --timeline --help"
      else _rondo_files; fi ;;
    show:--costs) _rondo_files ;;
    show:--family) _rondo_words "all gpipe 1f1b eager-1f1b kfkb zb-h1 zb-h2 zb-auto interleaved-1f1b interleaved-zb looped-bfs blockwise zbv zbv-auto v-half v-min dualpipe-v wave spp pipedream 2bw pipemare timeprest" ;;
    show:--iteration) : ;;
    show:--iterations) : ;;
    show:--name) : ;;
    show:-o) _rondo_files ;;
    show:--output) _rondo_files ;;
    show:--schedule) : ;;
    show:--schedules) _rondo_files ;;
    show:*)
      if [[ $word == -* ]]; then _rondo_words "--costs --family --iteration --iterations --name -o --output --schedule --schedules --help"
      else _rondo_files; fi ;;
    diff:--costs) _rondo_files ;;
    diff:--family) _rondo_words "all gpipe 1f1b eager-1f1b kfkb zb-h1 zb-h2 zb-auto interleaved-1f1b interleaved-zb looped-bfs blockwise zbv zbv-auto v-half v-min dualpipe-v wave spp pipedream 2bw pipemare timeprest" ;;
    diff:--iteration) : ;;
    diff:--most) : ;;
    diff:--name) : ;;
    diff:--schedule) : ;;
    diff:--schedules) _rondo_files ;;
    diff:*)
      if [[ $word == -* ]]; then _rondo_words "--costs --family --iteration --json --most --name --schedule --schedules --help"
      else _rondo_files; fi ;;
    versions:--accounting) _rondo_words "times slots" ;;
    versions:--costs) _rondo_files ;;
    versions:--family) _rondo_words "all gpipe 1f1b eager-1f1b kfkb zb-h1 zb-h2 zb-auto interleaved-1f1b interleaved-zb looped-bfs blockwise zbv zbv-auto v-half v-min dualpipe-v wave spp pipedream 2bw pipemare timeprest" ;;
    versions:--iterations) : ;;
    versions:--policy) _rondo_words "synchronous pipedream 2bw pipemare timeprest" ;;
    versions:--schedules) _rondo_files ;;
    versions:*)
      if [[ $word == -* ]]; then _rondo_words "--accounting --costs --family --iterations --json --policy --schedules --tasks --help"
      else _rondo_files; fi ;;
    verify:--problems) _rondo_files ;;
    verify:--schedules) _rondo_files ;;
    verify:*)
      if [[ $word == -* ]]; then _rondo_words "--json --problems --schedules --help"
      else _rondo_files; fi ;;
    blame:--actions) : ;;
    blame:*)
      if [[ $word == -* ]]; then _rondo_words "--actions --json --help"
      else _rondo_files; fi ;;
    export:--backward) : ;;
    export:--costs) _rondo_files ;;
    export:--csv) _rondo_files ;;
    export:--line) : ;;
    export:--messages) _rondo_words "rounds early" ;;
    export:-o) _rondo_files ;;
    export:--output) _rondo_files ;;
    export:--problem) _rondo_files ;;
    export:--problem-output) _rondo_files ;;
    export:--schedule) : ;;
    export:--torch) : ;;
    export:*)
      if [[ $word == -* ]]; then _rondo_words "--ascending --backward --costs --csv --fuse --line --messages -o --output --problem --problem-output --schedule --torch --help"
      else _rondo_files; fi ;;
    import-model:--batch) : ;;
    import-model:--dtype) _rondo_words "fp32 bf16" ;;
    import-model:--name) : ;;
    import-model:-o) _rondo_files ;;
    import-model:--output) _rondo_files ;;
    import-model:--sequence) : ;;
    import-model:--target) _rondo_words "cpu cuda" ;;
    import-model:*)
      if [[ $word == -* ]]; then _rondo_words "--batch --dtype --json --name -o --output --sequence --target --help"
      else _rondo_files; fi ;;
    import-cluster:--device) _rondo_words "h100 h200 b200 gb200 a100 a6000 a40 l40s rtx4090" ;;
    import-cluster:--efficiency) : ;;
    import-cluster:--latencies) : ;;
    import-cluster:--name) : ;;
    import-cluster:--network) : ;;
    import-cluster:--network-latency) : ;;
    import-cluster:--nics) : ;;
    import-cluster:--nodes) : ;;
    import-cluster:-o) _rondo_files ;;
    import-cluster:--output) _rondo_files ;;
    import-cluster:--preset) _rondo_words "8xh100 8xh200 8xb200 72xgb200 8xa100 pcie-a6000" ;;
    import-cluster:--rates) : ;;
    import-cluster:*)
      if [[ $word == -* ]]; then _rondo_words "--device --efficiency --latencies --name --network --network-latency --nics --nodes -o --output --preset --rates --help"
      else _rondo_files; fi ;;
    import-profile:--batch) : ;;
    import-profile:--name) : ;;
    import-profile:-o) _rondo_files ;;
    import-profile:--output) _rondo_files ;;
    import-profile:*)
      if [[ $word == -* ]]; then _rondo_words "--batch --name -o --output --help"
      else _rondo_files; fi ;;
    import:--group) : ;;
    import:--line) : ;;
    import:--microbatches) : ;;
    import:--name) : ;;
    import:-o) _rondo_files ;;
    import:--output) _rondo_files ;;
    import:--problem) _rondo_files ;;
    import:--problem-output) _rondo_files ;;
    import:--queues) _rondo_words "rank pair" ;;
    import:--ranks) : ;;
    import:--torch) : ;;
    import:*)
      if [[ $word == -* ]]; then _rondo_words "--group --line --microbatches --name -o --output --problem --problem-output --queues --ranks --scale-grads --torch --help"
      else _rondo_files; fi ;;
  esac
}

complete -F _rondo rondo
