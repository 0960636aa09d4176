/**
 * One action upon many entities, each by a call of its own, a bounded number of them at once. Invariant: each entity is told of
 * once the service has answered for it, and in the end none is left in silence: it is done, refused, unknown or not tried.
 */
import type { Client } from '../engine/client.ts'
import { describeError, ForeignRefusal, ServiceRefused } from '../engine/errors.ts'
import { mayHelp, retrying } from '../engine/retry.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT, explain } from './exit.ts'
import { counted } from './units.ts'
import type { Cli } from './world.ts'

/** Most entities of one command: it keeps them in memory. */
export const BATCH_MAX = 100_000
/** Calls at once: the service then flushes several with one write, and others still get their turn (docs/decisions/http.md). */
const AT_ONCE = 32
/** How long one call is repeated while the service cannot answer it, in milliseconds. */
const PATIENCE_MS = 30_000
/** Faults inside the service for one call that count as its refusal. */
const FAULTS_MAX = 2
/** Refusals of the caller, and not of the one entity. */
const OF_THE_CALLER: readonly unknown[] = [401, 403]

export interface Target {
  readonly id: string
  /** As the list shows it, if it was found there. */
  readonly found?: Document
}

/** What the service has answered. */
export interface Done {
  readonly document: Document
  /** The same on one line, for people. */
  readonly line: string
}

export interface Deed {
  /** What one entity is called, such as `item`. */
  readonly noun: string
  /** Such as `cancelled`. */
  readonly done: string
  /** Throws ServiceRefused, or CliFailure with EXIT.refused, for one that is refused. May be called again for the same one. */
  readonly perform: (cli: Cli, target: Target) => Promise<Done>
  /** Whether it only says what would be done. */
  readonly isRehearsal?: true
}

/**
 * Carries it out upon each. Throws CliFailure if any was refused (EXIT.refused) or somebody has stopped it
 * (EXIT.interrupted), and the error itself if the service could not answer for PATIENCE_MS, or refuses the caller.
 * @param atRefusal whether a refusal ends it; then they are done one after the other
 */
export async function performAll(
  cli: Cli,
  deed: Deed,
  targets: readonly Target[],
  atRefusal: 'continue' | 'stop',
): Promise<void> {
  const { note, world } = cli
  const stop = new AbortController()
  let isInterrupted = false
  world.owesOutcome()
  world.onStopSignal((count) => {
    isInterrupted = true
    stop.abort()
    if (count > 1) world.exit(EXIT.interrupted)
  })
  const patiently: Cli = { ...cli, client: patient(cli.client, stop.signal) }
  const tell = teller(cli, deed)
  const count = { done: 0, refused: 0, unknown: 0 }
  let tried = 0
  let ending: unknown
  const work = async (): Promise<void> => {
    while (tried < targets.length && !stop.signal.aborted) {
      const target = targets[tried++]!
      try {
        const done = await deed.perform(patiently, target)
        count.done += 1
        tell.done(target, done)
      } catch (error) {
        if (isOfOne(error)) {
          count.refused += 1
          tell.refused(target, error)
          if (atRefusal === 'stop') stop.abort()
        } else {
          count.unknown += 1
          tell.unknown(target, error)
          if (!isInterrupted) ending ??= error
          stop.abort()
        }
      }
      await cli.print.room()
    }
  }
  await Promise.all(Array.from({ length: atRefusal === 'stop' ? 1 : AT_ONCE }, work))
  const left = targets.slice(tried)
  for (const target of left) tell.notTried(target)
  const sum = `${count.done} of ${counted(targets.length, deed.noun)} ${deed.isRehearsal ? 'would be ' : ''}${deed.done}`
  const parts = [
    sum,
    ...(count.refused > 0 ? [`${count.refused} refused`] : []),
    ...(count.unknown > 0 ? [`${count.unknown} with an unknown outcome`] : []),
    ...(left.length > 0 ? [`${left.length} not tried`] : []),
  ].join(', ')
  if (ending !== undefined) {
    note(`${parts}. The same command again continues.`)
    throw ending
  }
  if (isInterrupted && left.length + count.unknown > 0)
    throw new CliFailure(`Stopped: ${parts}. The same command again continues.`, EXIT.interrupted)
  if (count.refused > 0) throw new CliFailure(`${parts}.`, EXIT.refused)
}

/** Whether the error concerns the one entity only. */
function isOfOne(error: unknown): error is Error {
  if (error instanceof CliFailure) return error.exitCode === EXIT.refused
  if (!(error instanceof ServiceRefused) || error instanceof ForeignRefusal) return false
  const { status } = error.problem
  return status === 500 || !(mayHelp(error) || OF_THE_CALLER.includes(status))
}

/** The same client, which repeats what the service cannot answer now. */
function patient(client: Client, signal: AbortSignal): Client {
  return {
    ...client,
    request(...call) {
      const untilMs = performance.now() + PATIENCE_MS
      return retrying(() => client.request(...call), {
        signal,
        faultsMax: FAULTS_MAX,
        mayHelp: (error) => mayHelp(error) && performance.now() < untilMs,
      })
    },
  }
}

const RESULTS = {
  done: ['done', 'would_be_done'],
  refused: ['refused', 'would_be_refused'],
} as const

/** Tells of each as soon as it is known: with `--json` on one line of its own. */
function teller({ json, print, note }: Cli, { done, isRehearsal }: Deed) {
  const as = isRehearsal ? 1 : 0
  const tell = (id: string, result: string, more: object, text: () => void): void =>
    json ? print.jsonLine({ id, result, ...more }) : text()
  return {
    done: ({ id }: Target, { document, line }: Done) =>
      tell(id, RESULTS.done[as], { document }, () => print.line(line)),
    refused: ({ id }: Target, error: Error) =>
      tell(id, RESULTS.refused[as], { problem: explain(error).problem }, () =>
        note(`${id} ${isRehearsal ? 'would not be' : 'is not'} ${done}: ${describeError(error)}`),
      ),
    unknown: ({ id }: Target, error: unknown) =>
      tell(id, 'unknown', { problem: explain(error).problem }, () =>
        note(`${id} may or may not be ${done}: ${describeError(error)}`),
      ),
    notTried: ({ id }: Target) => tell(id, 'not_tried', {}, () => {}),
  }
}
