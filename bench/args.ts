/** Parses the command line: names of questions and a few flags. */
import { parseArgs } from 'node:util'

export interface Arguments {
  /** In the order of the list; all if none was named. */
  readonly names: readonly string[]
  readonly quick: boolean
  /** Write CPU profiles of the service beside the results and print where its time went. */
  readonly profile: boolean
  readonly list: boolean
  readonly help: boolean
}

export class BadArguments extends Error {
  override readonly name = 'BadArguments'
}

/** Throws BadArguments for an unknown flag or question. */
export function readArguments(given: readonly string[], known: readonly string[]): Arguments {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(given)
  } catch (failure) {
    throw new BadArguments((failure as Error).message)
  }
  const { positionals, values } = parsed
  for (const name of positionals) {
    if (!known.includes(name)) throw new BadArguments(`no question named ${name}; there are: ${known.join(', ')}`)
  }
  return {
    names: positionals.length === 0 ? known : known.filter((name) => positionals.includes(name)),
    quick: values.quick,
    profile: values.profile,
    list: values.list,
    help: values.help,
  }
}

function parse(given: readonly string[]) {
  return parseArgs({
    args: [...given],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
}

/** @param script name of the npm script. */
export function usage(script: string, questions: readonly { readonly name: string; readonly asks: string }[]): string {
  const width = Math.max(...questions.map(({ name }) => name.length))
  return [
    `Usage: npm run ${script} -- [question...] [--quick] [--profile] [--list]`,
    '',
    ...questions.map(({ name, asks }) => `  ${name.padEnd(width)}  ${asks}`),
    '',
    '  --quick    smaller and shorter: about two minutes for all',
    '  --profile  CPU profiles of the service beside the results, and where its time went',
    '  --list     print this and end',
  ].join('\n')
}
