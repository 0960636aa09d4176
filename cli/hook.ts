/**
 * The command that `--exec` names in `watch` and `attention`: it is run once for one thing after the other, each as JSON on its
 * standard input and as variables. It is the caller's own, so unlike a runner's it keeps the caller's environment.
 */
import { type Command, endInWords, startCommand } from '../engine/command.ts'
import { waitingTimeOption } from './arguments.ts'
import { EXIT } from './exit.ts'
import { cut, harmless, safe } from './print.ts'
import { showDuration } from './units.ts'
import type { Cli, World } from './world.ts'

/** Longest value of a variable: the system limits each, and all of them together. */
const FACT_CHARS_MAX = 4_000
/** Time between SIGTERM and SIGKILL for a command that has to end, in milliseconds. */
const GRACE_MS = 10_000
const LIMIT_MS_DEFAULT = 600_000

/** Main facts of a thing by the end of their variable's name: `id` is INTENDANT_ID. The variable of an absent one is empty. */
export type Facts = Readonly<Record<string, string | undefined>>

/** For commands that take `--exec`. */
export function execLimitOption(): ReturnType<typeof waitingTimeOption> {
  const help = 'Longest time for the command; then it is ended, which counts as a failure.'
  return waitingTimeOption('--exec-limit <duration>', help, LIMIT_MS_DEFAULT)
}

/** The command failed, was ended, or could not be started. */
export class HookFailed extends Error {
  override readonly name = 'HookFailed'
}

export class Hook {
  readonly #cli: Cli
  readonly #command: string
  readonly #limitMs: number
  #running: Command | undefined

  /** `command` is for `/bin/sh -c`; `limitMs` is the longest time that it may take. */
  constructor(cli: Cli, command: string, limitMs: number) {
    this.#cli = cli
    this.#command = command
    this.#limitMs = limitMs
  }

  /**
   * Runs the command for the thing, not beside another one; what it prints is passed on. Throws HookFailed unless it
   * ends with exit code 0.
   */
  async run(thing: object, facts: Facts): Promise<void> {
    const { world, print } = this.#cli
    const running = startCommand({
      command: this.#command,
      environment: { ...world.env, ...variables(facts) },
      input: `${JSON.stringify(thing)}\n`,
      onStdout: decoded((text) => {
        print.output(text)
        // No further ahead than the reader of our own output.
        running.pause()
        void print.room().then(() => running.resume())
      }),
      onStderr: decoded((text) => world.stderr.write(harmless(text))),
      leftoverGraceMs: GRACE_MS,
    })
    this.#running = running
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      running.stop(GRACE_MS)
    }, this.#limitMs)
    const end = await running.ended
    clearTimeout(timer)
    this.#running = undefined
    print.outputOver()
    if (isLate) throw new HookFailed(`the command did not end within ${showDuration(this.#limitMs)}`)
    if (end.error !== undefined) throw new HookFailed(`the command could not be started: ${end.error.message}`)
    if (end.code !== 0) throw new HookFailed(`the command ${endInWords(end)}`)
  }

  /** Ends the command under way. */
  stop(): void {
    this.#running?.stop(GRACE_MS)
  }

  /** Kills it. */
  kill(): void {
    this.#running?.kill()
  }
}

/**
 * Aborts at the first wish to stop, when nothing new is begun and the command under way is left to end. The second wish
 * ends that, the third kills it, and the fourth ends this process.
 */
export function stopOn(world: World, hook?: Hook): AbortController {
  const stop = new AbortController()
  world.onStopSignal((count) => {
    stop.abort()
    if (count === 2) hook?.stop()
    else if (count === 3) hook?.kill()
    else if (count > 3) world.exit(EXIT.interrupted)
  })
  return stop
}

/** Each on one line: a value may come from anybody, and a command may put it into a mail's header. */
function variables(facts: Facts): NodeJS.ProcessEnv {
  const named = Object.entries(facts).map(([name, value = '']) => [
    `INTENDANT_${name.toUpperCase()}`,
    cut(safe(value), FACT_CHARS_MAX),
  ])
  return Object.fromEntries(named)
}

/** For a stream of bytes: characters that are cut between two chunks stay whole. */
function decoded(write: (text: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder()
  return (chunk) => write(decoder.decode(chunk, { stream: true }))
}
