# Completion of the `gdakit` command in bash: commands, their options and words, and
# scenarios of the simulator. Installed where bash-completion looks for it; else `source` it.

_gdakit() {
  local gdakit=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} words=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
    words="run verbs check top timeline info explore mutants litmus help --help --version"
  elif [[ $word == -* ]]; then
    # What begins a line of the help, or follows a comma there, is an option.
    words=$("$gdakit" "$command" --help 2>/dev/null |
            sed -nE 's/^ +(-[-a-z,]+).*/\1/p' | tr ',' ' ')
  elif [[ $command == explore ]]; then
    words="all $("$gdakit" explore --list 2>/dev/null | sed -nE 's/^([a-z0-9-]+)( .*)?$/\1/p')"
  elif [[ $command == verbs && ${COMP_WORDS[COMP_CWORD-2]} == set ]]; then
    words="port=up gids=renumber faults="
  elif [[ $command == verbs && " ${COMP_WORDS[*]} " != *" -- "* ]]; then
    words="env ls stats kill-port set"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# What it does not know is a file.
complete -o default -F _gdakit gdakit
