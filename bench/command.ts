/**
 * What every benchmark command does around its measurements: it limits their time, keeps homes on a real disk, and
 * leaves nothing behind, however it ends.
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
 * Runs a command to its end and sets the process's exit code to what `body` returns.
 * @param minutesMax the command ends after this time, even if something hangs.
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

/** A file path for this run's results; the time in it keeps runs apart. */
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
