/**
 * The service as a whole: journal, actors, dispatcher and server, opened in this order and closed in the other.
 * It listens only once everything that was acknowledged before can be read; it stops without losing a word.
 */
import { randomUUID } from 'node:crypto'
import { type Logger, pino } from 'pino'
import { modules } from '../machines/index.ts'
import { createPrincipals, type Principals } from '../runtime/access/principals.ts'
import type { Nature, Runtime } from '../runtime/api.ts'
import { createDispatcher } from '../runtime/dispatch/dispatcher.ts'
import { AgentSessions } from '../runtime/entities/agent-sessions.ts'
import { Capabilities } from '../runtime/entities/capabilities.ts'
import { createRuntime } from '../runtime/runtime.ts'
import { createScheduler } from '../runtime/scheduler/scheduler.ts'
import type { Settings } from '../runtime/settings.ts'
import { createSteward } from '../runtime/steward/steward.ts'
import { upgradeIndexes } from '../runtime/upgrade.ts'
import { type Journal, JournalFailure } from '../storage/journal.ts'
import { realNature } from '../storage/nature.ts'
import { openDiskJournal } from '../storage/open-journal.ts'
import { AccessCheck } from './access.ts'
import { ensureAdminToken } from './admin-token.ts'
import { Admission } from './admission.ts'
import { BodyReader } from './bodies/body.ts'
import { LostPast } from './lost-past.ts'
import { createMetrics, type Metrics, measureRoutes, measureService } from './metrics.ts'
import { Arrivals } from './resources/arrivals.ts'
import { backupsOf } from './resources/backups.ts'
import type { ServiceContext } from './route.ts'
import { Router } from './router.ts'
import { allRoutes } from './routes.ts'
import { Turnstile } from './turnstile.ts'
import { createServer, type Server } from './wire/uws.ts'

export interface ServiceOptions {
  /** Shown by `/api/version`. */
  readonly version: string
  /** Structured log; default: pino on standard error, at the settings' level. */
  readonly log?: Logger
  /** Clocks, timers and randomness; default: the real ones. */
  readonly nature?: Nature
  /** Actors kept in memory when idle; default: as the runtime has it. */
  readonly residentActorsMax?: number
  /** Where requests come from; default: uWebSockets.js. */
  readonly createServer?: typeof createServer
  /** Takes up what the parts measure; default: with the process's own figures. */
  readonly metrics?: Metrics
  /** Keeps the first token for its owner; default: a file in the home. */
  readonly saveAdminToken?: (token: string) => void
  /** Opens the journal; default: the log's files and the view beside them, in the settings' home. */
  readonly openJournal?: (onFailure: (failure: Error) => void) => Promise<Journal>
  /** Nothing can be trusted any more. Default: say so and end the process, so that it is started again. */
  readonly onFatal?: (failure: Error) => void
}

export interface Service {
  /** `http://HOST:PORT`. */
  readonly url: string
  readonly port: number
  readonly runtime: Runtime
  /** Graceful stop: parked polls are answered, watchers told, what was taken is finished. Later calls wait for the first. */
  close(): Promise<void>
}

/** How long requests that are under way may take to be answered; what is not whole by then is cut off. */
const DRAIN_MS = 5_000
/** How long answers that are under way may take to leave the process. */
const FLUSH_MS = 100
const NOTE_USE_EVERY_MS = 60_000
const REFUSALS_EVERY_MS = 2_000
/** Until when writes are refused, by the reason. */
const ROOM: Readonly<Record<string, string>> = {
  disk_reserve: 'more than disk_reserve is free',
  read_only: 'it is restarted with more than disk_reserve free',
}
/** Lets the last lines of the log and the last answers out before the process ends. */
const FATAL_EXIT_MS = 200

/** Open everything and listen. Throws HomeRefused, ServerFailure, and what the journal throws. */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  // Not pino.destination: where it cannot write (a full disk, a terminal that closed) it holds up the end of the process for ever.
  const log = options.log ?? pino({ level: settings.logLevel, base: { instance: randomUUID() } }, process.stderr)
  const nature = failingQuietly(options.nature ?? realNature)
  const onFatal = once(options.onFatal ?? ((failure: Error) => endProcess(log, failure)))
  const onRepeat = (err: Error) =>
    log.warn({ err }, 'LMDB gave up a commit for no reason of its own: it is tried again')
  const onThreadEnd = (err: Error) =>
    log.warn({ err }, 'the thread that writes the view has ended: the main thread writes it now')
  const onNoFreeSpaceTold = (err: Error) =>
    log.warn({ err }, 'the file system does not say how much is free: the disk reserve is not watched')
  const told = { onRepeat, onThreadEnd, onNoFreeSpaceTold }
  const open = options.openJournal ?? ((onFailure) => openDiskJournal({ ...settings, onFailure, ...told }))
  let hasFailed = false
  const journal = await open((failure) => {
    hasFailed = true
    log.fatal({ err: failure }, 'the journal has failed')
    // A failed commit reaches the runtime, which tells the senders first; a failed view reaches nobody else.
    nature.nextTurn(() => onFatal(failure))
  })
  const made: Made = { closing: [] }
  try {
    await upgradeIndexes(journal, modules, log)
    const { residentActorsMax } = options
    const bound = residentActorsMax === undefined ? {} : { residentActorsMax }
    made.runtime = createRuntime(journal, settings, { nature, log, modules, onFatal, ...bound })
    return await listen(made.runtime, log, options, () => hasFailed, made)
  } catch (error) {
    for (const callback of made.closing) callback()
    made.server?.close()
    await (made.runtime ?? journal).close()
    throw error
  }
}

/** What a start has made so far: where it fails, nothing of it may go on by itself. */
interface Made {
  runtime?: Runtime
  server?: Server
  /** Called first when the service stops, too: parked polls are answered, watchers told, and no part asks for more. */
  readonly closing: (() => void)[]
}

async function listen(
  runtime: Runtime,
  log: Logger,
  options: ServiceOptions,
  hasFailed: () => boolean,
  made: Made,
): Promise<Service> {
  const { settings } = runtime
  const { closing } = made
  /** What was made last is closed first. */
  const toClose = <Part extends { close(): void }>(part: Part): Part => {
    closing.unshift(() => part.close())
    return part
  }
  const dispatcher = toClose(createDispatcher(runtime, log))
  const capabilities = toClose(new Capabilities(runtime, dispatcher, log))
  const scheduler = toClose(createScheduler(runtime, dispatcher, log))
  const sessions = toClose(new AgentSessions(runtime, log))
  const steward = toClose(createSteward(runtime, log))
  const principals = await createPrincipals(runtime)
  await ensureAdminToken(runtime, log, options.saveAdminToken)
  await sessions.recover()
  const metrics = options.metrics ?? createMetrics()
  let isClosing = false
  const backups = backupsOf(runtime, log)
  const context: ServiceContext = {
    runtime,
    dispatcher,
    capabilities,
    scheduler,
    steward,
    sessions,
    principals,
    keysInUse: new Turnstile(),
    lostPast: new LostPast(log),
    log,
    metrics,
    hasFailed,
    onClosing: (callback) => closing.push(callback),
    ...(backups === undefined ? {} : { backups }),
  }
  if (backups !== undefined) closing.push(() => backups.close())
  let { port } = settings
  const routes = allRoutes(context, { version: options.version, isClosing: () => isClosing, port: () => port })
  const { headerBytesMax, tls } = settings
  const listenOn = options.createServer ?? createServer
  const server = listenOn(tls === undefined ? { headerBytesMax } : { headerBytesMax, tls })
  made.server = server
  const bodies = new BodyReader(settings, runtime.nature)
  const access = new AccessCheck(principals)
  const admission = new Admission(runtime.load)
  const ending = { isClosing: () => isClosing, hasFailed }
  const arrivals = new Arrivals(runtime, ending)
  const router = new Router({ routes, server, access, bodies, admission, arrivals, headerBytesMax, log, ...ending })
  measureRoutes(metrics, router.entries, bodies, admission)
  measureService(metrics, context)
  port = await server.listen(settings.host, settings.port)
  const stopNoting = noteUses(runtime, principals)
  const url = `${tls === undefined ? 'http' : 'https'}://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`
  log.info({ url, home: settings.home, lastSequence: runtime.journal.lastSequence }, 'listening')
  const stopTelling = tellOfRefusals(runtime, log, hasFailed)
  let stopped: Promise<void> | undefined
  const close = async (): Promise<void> => {
    log.info('stopping')
    isClosing = true
    stopNoting()
    stopTelling()
    server.stopListening()
    for (const callback of closing) callback()
    await answered(router, runtime.nature)
    if (router.pending.count > 0) {
      log.warn({ requests: router.pending.count }, 'the stop cuts off requests that do not come to an end')
      server.close()
    }
    await runtime.close()
    await new Promise<void>((resolve) => runtime.nature.setTimer(resolve, FLUSH_MS))
    server.close()
    log.info('stopped')
  }
  return {
    url,
    port,
    runtime,
    close: () => {
      stopped ??= close()
      return stopped
    },
  }
}

/** Resolves when every request that was let in has its answer, or its time is over. */
function answered({ pending }: Router, nature: Nature): Promise<void> {
  return new Promise((resolve) => {
    const timer = nature.setTimer(resolve, DRAIN_MS)
    pending.whenNone(() => {
      nature.clearTimer(timer)
      resolve()
    })
  })
}

/** Which tokens were used is written once a minute at most, and only for those that were. */
function noteUses(runtime: Runtime, principals: Principals): () => void {
  const { nature } = runtime
  const note = (): void => {
    timer = nature.setTimer(note, NOTE_USE_EVERY_MS)
    for (const id of principals.takeUsed()) runtime.ask({ kind: 'token', id }, { type: 'note_use' }, () => {})
  }
  let timer = nature.setTimer(note, NOTE_USE_EVERY_MS)
  return () => nature.clearTimer(timer)
}

/** Says when the service ceases to take writes for want of room, and when it takes them again. Answers the function that ends it. */
function tellOfRefusals({ journal, nature }: Runtime, log: Logger, hasFailed: () => boolean): () => void {
  let told: string | undefined
  const look = (): void => {
    timer = nature.setTimer(look, REFUSALS_EVERY_MS)
    const reason = journal.refuses()
    // It is behind its view for moments, of which nothing is told.
    if (reason === told || reason === 'view_backlog' || hasFailed()) return
    if (reason === undefined) log.warn({ reason: told }, 'there is room: the service takes writes again')
    else
      log.warn(
        { reason },
        `the service answers reads only: it takes no writes until ${ROOM[reason] ?? 'it is restarted'}`,
      )
    told = reason
  }
  let timer: unknown
  look()
  return () => nature.clearTimer(timer)
}

/**
 * What a timer or a turn meets may be a journal that has failed: it has told so, or is about to, with the cause, and that ends
 * the process in good order. The error of whoever came upon it next would end it in the midst of answers.
 */
function failingQuietly(nature: Nature): Nature {
  const quietly = (run: () => void) => () => {
    try {
      run()
    } catch (error) {
      if (!(error instanceof JournalFailure)) throw error
    }
  }
  return {
    wallMs: () => nature.wallMs(),
    monotonicMs: () => nature.monotonicMs(),
    randomHex: (digits) => nature.randomHex(digits),
    setTimer: (callback, afterMs) => nature.setTimer(quietly(callback), afterMs),
    clearTimer: (timer) => nature.clearTimer(timer),
    nextTurn: (callback) => nature.nextTurn(quietly(callback)),
  }
}

/** Two may find the same failure. */
function once(tell: (failure: Error) => void): (failure: Error) => void {
  let isTold = false
  return (failure) => {
    if (!isTold) tell(failure)
    isTold = true
  }
}

function endProcess(log: Logger, failure: Error): void {
  log.fatal({ err: failure }, 'the service cannot go on and ends; start it again')
  setTimeout(() => process.exit(1), FATAL_EXIT_MS)
}
