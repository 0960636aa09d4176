/** Reads the command lines of the long-running proofs, each of which is a process of its own. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values']

/** Prints `usage` and exits with 0 if help was asked for, with 2 if the line cannot be parsed. */
export function commandLine<O extends Options>(usage: string, options: O): Values<O> {
  let values: Values<O> & { readonly help?: boolean }
  try {
    values = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } }).values as typeof values
  } catch (failure) {
    return refuse(usage, (failure as Error).message)
  }
  if (values.help !== true) return values
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

/** A whole number of at least `least`; exits with 2 if the text is none. */
export function whole(usage: string, flag: string, text: string, least = 0): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value
  return refuse(usage, `${flag} is a whole number from ${least}; ${JSON.stringify(text)} was given`)
}

function refuse(usage: string, why: string): never {
  process.stderr.write(`${why}\n\n${usage}\n`)
  process.exit(2)
}
