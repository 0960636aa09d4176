/**
 * What every benchmark command does around its measures: a bound on its time, a temporary home on a real disk, and
 * nothing left behind, however it ends.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BadArguments } from './args.ts'
import { killAll, stopAll } from './child.ts'
import { killDaemons, stopDaemons } from './daemon.ts'
import { Scratch } from './scratch.ts'

export const RESULTS = resolve('bench/results')

const EXIT_BAD_ARGUMENTS = 2
const EXIT_TIMED_OUT = 124
const EXIT_INTERRUPTED = 130

export function say(text: string): void {
  process.stderr.write(`  ${text}\n`)
}

/**
 * Run a command to its end and set the process's exit code to what `body` returns.
 * @param minutesMax whatever hangs, the command ends after so long.
 */
export async function command(
  usage: string,
  minutesMax: number,
  body: (scratch: Scratch) => Promise<number>,
): Promise<void> {
  const scratch = new Scratch()
  process.once('exit', () => {
    killAll()
    killDaemons()
    scratch.removeAll()
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(EXIT_INTERRUPTED))
  setTimeout(() => process.exit(EXIT_TIMED_OUT), minutesMax * 60_000).unref()
  try {
    process.exitCode = await body(scratch)
  } catch (failure) {
    if (!(failure instanceof BadArguments)) throw failure
    process.stderr.write(`${failure.message}\n\n${usage}\n`)
    process.exitCode = EXIT_BAD_ARGUMENTS
  } finally {
    await Promise.all([stopAll(), stopDaemons()])
  }
}

/** A name for this run's results, told apart from earlier ones by the time. */
export function resultsPath(name: string, extension: string): string {
  const time = new Date().toISOString().replaceAll(':', '-').slice(0, 19)
  return join(RESULTS, `${name === '' ? '' : `${name}-`}${time}.${extension}`)
}

export function writeText(path: string, text: string): void {
  mkdirSync(resolve(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

export function writeJson(path: string, value: unknown): void {
  writeText(path, `${JSON.stringify(value, undefined, 2)}\n`)
}
