/** The command lines of the long proofs, each a process of its own: read here, so that each says what it takes. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values']

/** Ends the process where help was asked for (0), and where the line cannot be read (2): with `usage` in both cases. */
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

/** A whole number of at least `least`; ends the process where it is none. */
export function whole(usage: string, flag: string, text: string, least = 0): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value
  return refuse(usage, `${flag} is a whole number from ${least}; ${JSON.stringify(text)} was given`)
}

function refuse(usage: string, why: string): never {
  process.stderr.write(`${why}\n\n${usage}\n`)
  process.exit(2)
}
