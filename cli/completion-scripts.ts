/**
 * Completion scripts: the program's commands as a table that each shell can read. bash and zsh share the table and the walk along
 * the words; none of their variables has a name that zsh keeps for itself (as `path`, `commands`, `options`).
 */

/** A command, and what may follow it. */
export interface Place {
  /** The commands that lead to it, each by all of its names; empty: the program itself. */
  readonly path: readonly (readonly string[])[]
  readonly commands: readonly { readonly names: readonly string[]; readonly description: string }[]
  readonly options: readonly {
    readonly flags: readonly string[]
    readonly description: string
    readonly takesValue: boolean
    /** The values that there are; empty: any. */
    readonly values: readonly string[]
  }[]
  /** What an operand may be; empty: anything. */
  readonly operands: readonly string[]
}

const PROGRAM = 'intendant'

export function bashScript(places: readonly Place[]): string {
  return `# Completion of bash for ${PROGRAM}: made by \`${PROGRAM} completion bash\`.
${table(places)}
_${PROGRAM}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at='' flag='' cmds opts valued operands values word
  COMPREPLY=()
  _${PROGRAM}_at ''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${WALK}
  done
  # --flag=value is three words to bash.
  if [ "$cur" = '=' ]; then cur=''; fi
  if [ -n "$flag" ]; then
    _${PROGRAM}_values "$at $flag"
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  elif [ "\${cur#-}" != "$cur" ]; then
    COMPREPLY=($(compgen -W "$opts" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$cmds $operands" -- "$cur"))
  fi
}
# Where nothing of this fits, files are offered.
complete -o default -F _${PROGRAM} ${PROGRAM}
`
}

export function zshScript(places: readonly Place[]): string {
  return `#compdef ${PROGRAM}
# Completion of zsh for ${PROGRAM}: made by \`${PROGRAM} completion zsh\`.
compdef _${PROGRAM} ${PROGRAM}
${table(places)}
_${PROGRAM}() {
  local at='' flag='' cmds opts valued operands values word
  _${PROGRAM}_at ''
  for word in "\${(@)words[2,CURRENT-1]}"; do
${WALK}
  done
  if [ -n "$flag" ]; then
    _${PROGRAM}_values "$at $flag"
    if [ -n "$values" ]; then compadd -- \${=values}; else _files; fi
  elif [ "\${PREFIX#-}" != "$PREFIX" ]; then
    compadd -- \${=opts}
  elif [ -n "$cmds$operands" ]; then
    compadd -- \${=cmds} \${=operands}
  else
    _files
  fi
}
# Not where it is read by \`source\`.
if [ "$funcstack[1]" = _${PROGRAM} ]; then _${PROGRAM} "$@"; fi
`
}

/** Takes one word that is already there: the value of a flag, a flag that takes a value, or a command. */
const WALK = `    if [ "$word" = '=' ] || [ -z "$word" ]; then continue; fi
    if [ -n "$flag" ]; then flag=''; continue; fi
    case " $valued " in *" $word "*) flag=$word; continue ;; esac
    case " $cmds " in *" $word "*) at="$at $word"; _${PROGRAM}_at "$at" ;; esac`

/** Two functions: what may follow a command, and which values there are for a flag of it. */
function table(places: readonly Place[]): string {
  const rows = places.map(({ path, commands, options, operands }) => {
    const cmds = commands.flatMap(({ names }) => names)
    const opts = options.flatMap(({ flags }) => flags)
    const valued = options.filter(({ takesValue }) => takesValue).flatMap(({ flags }) => flags)
    const sets = { cmds, opts, valued, operands }
    const words = Object.entries(sets).map(([name, all]) => `${name}=${quoted(all.join(' '))}`)
    return `    ${ways(path).map(quoted).join('|')}) ${words.join(' ')} ;;`
  })
  const values = places.flatMap(({ path, options }) =>
    options
      .filter((option) => option.values.length > 0)
      .map(({ flags, values }) => {
        const patterns = ways(path).flatMap((way) => flags.map((flag) => quoted(`${way} ${flag}`)))
        return `    ${patterns.join('|')}) values=${quoted(values.join(' '))} ;;`
      }),
  )
  return `_${PROGRAM}_at() {
  case "$1" in
${rows.join('\n')}
  esac
}
_${PROGRAM}_values() {
  values=''
  case "$1" in
${values.join('\n')}
  esac
}`
}

/** The words that lead to a command, each behind a space: one text for each combination of names. */
function ways(path: Place['path']): string[] {
  return path.reduce<string[]>((before, names) => before.flatMap((way) => names.map((name) => `${way} ${name}`)), [''])
}

/** In single quotes; the text has none. */
function quoted(text: string): string {
  return `'${text}'`
}

export function fishScript(places: readonly Place[]): string {
  const everywhere = new Set(places.find(({ path }) => path.length === 0)?.options.flatMap(({ flags }) => flags))
  const lines = places.flatMap(({ path, commands, options, operands }) => {
    const own = options.filter(({ flags }) => path.length === 0 || !flags.some((flag) => everywhere.has(flag)))
    const here = path.map((names) => `__fish_seen_subcommand_from ${names.join(' ')}`)
    const names = commands.flatMap((command) => command.names)
    const before = names.length === 0 ? here : [...here, `not __fish_seen_subcommand_from ${names.join(' ')}`]
    const line = (conditions: readonly string[], rest: string): string =>
      `complete -c ${PROGRAM}${conditions.length === 0 ? '' : ` -n '${conditions.join('; and ')}'`} ${rest}`
    return [
      ...commands.map(({ names: [name], description }) => line(before, `-f -a ${name} -d ${fishText(description)}`)),
      ...(operands.length === 0 ? [] : [line(here, `-f -a '${operands.join(' ')}'`)]),
      ...own.map((option) => line(here, fishOption(option))),
    ]
  })
  return `# Completion of fish for ${PROGRAM}: made by \`${PROGRAM} completion fish\`.\n${lines.join('\n')}\n`
}

function fishOption({ flags, description, takesValue, values }: Place['options'][number]): string {
  const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const value = values.length > 0 ? [`-x -a '${values.join(' ')}'`] : takesValue ? ['-r'] : []
  return [...named, ...value, `-d ${fishText(description)}`].join(' ')
}

function fishText(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
