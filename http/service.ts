/**
 * The service as a whole: journal, actors, dispatcher and server, opened in this order and closed in reverse. It
 * listens only once everything acknowledged before can be read, and a graceful stop loses nothing that it acknowledged.
 */
import { randomUUID } from 'node:crypto'
import { type Logger, type LoggerOptions, pino } from 'pino'
import { modules } from '../machines/index.ts'
import { createPrincipals, type Principals } from '../runtime/access/principals.ts'
import type { RunKeyStore } from '../runtime/access/run-tokens.ts'
import type { Platform, Runtime } from '../runtime/api.ts'
import { createDispatcher } from '../runtime/dispatch/dispatcher.ts'
import { AgentSessions } from '../runtime/entities/agent-sessions.ts'
import { Capabilities } from '../runtime/entities/capabilities.ts'
import { SentinelTimes } from '../runtime/entities/sentinel-times.ts'
import { createRuntime } from '../runtime/runtime.ts'
import { createScheduler } from '../runtime/scheduler/scheduler.ts'
import type { Settings } from '../runtime/settings.ts'
import { createSteward } from '../runtime/steward/steward.ts'
import { upgradeIndexes } from '../runtime/upgrade.ts'
import { type Journal, JournalFailure } from '../storage/journal.ts'
import { openDiskJournal } from '../storage/open-journal.ts'
import { systemPlatform } from '../storage/platform.ts'
import { AccessCheck } from './access.ts'
import { ensureAdminToken } from './admin-token.ts'
import { Admission } from './admission.ts'
import { BodyReader } from './bodies/body.ts'
import { certificateEndMs, tellOfCertificate } from './certificate-notice.ts'
import { errorFields } from './error-fields.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import { createMetrics, type Metrics, measureRoutes, measureService } from './metrics.ts'
import { tellOfOpenFiles } from './open-files.ts'
import { backupsOf } from './resources/backups.ts'
import { PendingEntities } from './resources/pending-entities.ts'
import type { ServiceContext } from './route.ts'
import { Router } from './router.ts'
import { allRoutes } from './routes.ts'
import { runKeyIn } from './run-key.ts'
import { tellOfSlowCommits } from './slow-commits.ts'
import { StaleHomeNotice } from './stale-home-notice.ts'
import { createServer, type Server } from './wire/uws.ts'

export interface ServiceOptions {
  /** Shown by `/api/version`. */
  readonly version: string
  /** Structured log. Default: pino on standard error, at the level in the settings. */
  readonly log?: Logger
  /** Clocks, timers and randomness; default: the real ones. */
  readonly platform?: Platform
  /** Idle actors kept in memory. Default: the runtime's. */
  readonly residentActorsMax?: number
  /** Bytes of answers that clients have not taken, over all connections. Default: 256 MiB. */
  readonly unsentBytesMax?: number
  /** Creates the HTTP server. Default: uWebSockets.js. */
  readonly createServer?: typeof createServer
  /** Where the parts register their metrics. Default: a new registry with the process's own metrics. */
  readonly metrics?: Metrics
  /** Stores the first admin token. Default: in a file in the home. */
  readonly saveAdminToken?: (token: string) => void
  /** Keeps the key for the tokens of runs. Default: in a file in the home. */
  readonly runKey?: RunKeyStore
  /** Opens the journal. Default: the log's files and the view beside them, in the settings' home. */
  readonly openJournal?: (onFailure: (failure: Error) => void) => Promise<Journal>
  /**
   * Called when the service can no longer trust its state. Default: log it and exit, so that a supervisor restarts it.
   */
  readonly onFatal?: (failure: Error) => void
}

export interface Service {
  /** `http://HOST:PORT`. */
  readonly url: string
  readonly port: number
  readonly runtime: Runtime
  /** Graceful stop: answers parked polls, tells watchers, finishes accepted requests. Repeated calls share one stop. */
  close(): Promise<void>
}

/** How long requests under way may take to be answered during a stop; the rest are cut off. */
const DRAIN_MS = 5_000
/** How long answers under way may take to leave the process. */
const FLUSH_MS = 100
const NOTE_USE_EVERY_MS = 60_000
const REFUSALS_EVERY_MS = 2_000
/** Until when writes are refused, by reason (used in the log). */
const ROOM: Readonly<Record<string, string>> = {
  disk_reserve: 'more than disk_reserve is free',
  read_only: 'it is restarted with more than disk_reserve free',
}
/** Lets the last log lines and answers out before the process exits. */
const FATAL_EXIT_MS = 200

function logOptions({ logLevel: level }: Settings): LoggerOptions {
  return { level, base: { instance: randomUUID() }, serializers: { err: errorFields } }
}

/** Opens everything and listens. Throws HomeRefused, ServerFailure, and what the journal throws. */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  // Not pino.destination: if it cannot write (full disk, closed terminal), it keeps the process from ever exiting.
  const log = options.log ?? pino(logOptions(settings), process.stderr)
  const platform = failingQuietly(options.platform ?? systemPlatform)
  const onFatal = once(options.onFatal ?? ((failure: Error) => endProcess(log, failure)))
  const onRepeat = (err: Error) => log.warn({ err }, 'LMDB aborted a commit without an error of its own; retrying')
  const onThreadEnd = (err: Error) =>
    log.warn({ err }, 'the view writer thread ended; the main thread now writes the view')
  const onNoFreeSpaceTold = (err: Error) =>
    log.warn({ err }, 'the file system does not report free space; the disk reserve is not enforced')
  const told = { onRepeat, onThreadEnd, onNoFreeSpaceTold }
  const beforeMaking = () => assertListens(settings, options)
  const open =
    options.openJournal ?? ((onFailure) => openDiskJournal({ ...settings, onFailure, ...told, beforeMaking }))
  let hasFailed = false
  const journal = await open((failure) => {
    hasFailed = true
    log.fatal({ err: failure }, 'the journal has failed')
    // A failed commit also reaches the runtime, which must answer the senders first; a failed view is reported only
    // here.
    platform.nextTurn(() => onFatal(failure))
  })
  const made: Made = { closing: [] }
  try {
    await upgradeIndexes(journal, modules, log)
    const { residentActorsMax } = options
    const bound = residentActorsMax === undefined ? {} : { residentActorsMax }
    made.runtime = createRuntime(journal, settings, { platform, log, modules, onFatal, ...bound })
    return await listen(made.runtime, log, options, () => hasFailed, made)
  } catch (error) {
    for (const callback of made.closing) callback()
    made.server?.close()
    await (made.runtime ?? journal).close()
    throw error
  }
}

function serverFor({ headerBytesMax, tls }: Settings, options: ServiceOptions): Server {
  const make = options.createServer ?? createServer
  return make(tls === undefined ? { headerBytesMax } : { headerBytesMax, tls })
}

/** Listens for a moment, and closes again. Throws the ServerFailure that the service would fail with. */
async function assertListens(settings: Settings, options: ServiceOptions): Promise<void> {
  const server = serverFor(settings, options)
  try {
    await server.listen(settings.host, settings.port)
  } finally {
    server.stopListening()
    server.close()
  }
}

/** What a start has created so far. If the start fails, all of it is closed again. */
interface Made {
  runtime?: Runtime
  server?: Server
  /**
   * Called first at a stop too: answers parked polls, tells watchers, and stops the parts from sending further
   * messages.
   */
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
  /** Parts are closed in reverse order of creation. */
  const toClose = <Part extends { close(): void }>(part: Part): Part => {
    closing.unshift(() => part.close())
    return part
  }
  const dispatcher = toClose(createDispatcher(runtime, log))
  const capabilities = toClose(new Capabilities(runtime, dispatcher, log))
  const scheduler = toClose(createScheduler(runtime, dispatcher, log))
  const sessions = toClose(new AgentSessions(runtime, log))
  const steward = toClose(createSteward(runtime, log))
  toClose(new SentinelTimes(runtime, log))
  const principals = await createPrincipals(runtime, options.runKey ?? runKeyIn(settings.home))
  await ensureAdminToken(runtime, log, options.saveAdminToken)
  await sessions.recover()
  const metrics = options.metrics ?? createMetrics()
  let isClosing = false
  const backups = backupsOf(runtime, log)
  const { headerBytesMax, tls } = settings
  // Before anything else reads the certificate: it says what is wrong with the files.
  const server = serverFor(settings, options)
  made.server = server
  const context: ServiceContext = {
    runtime,
    dispatcher,
    capabilities,
    scheduler,
    steward,
    sessions,
    principals,
    keysInUse: new KeyedMutex(),
    staleHomeNotice: new StaleHomeNotice(log),
    log,
    metrics,
    hasFailed,
    certificateEndMs: certificateEndMs(tls?.certFile),
    onClosing: (callback) => closing.push(callback),
    ...(backups === undefined ? {} : { backups }),
  }
  if (backups !== undefined) closing.push(() => backups.close())
  let { port } = settings
  const routes = allRoutes(context, { version: options.version, isClosing: () => isClosing, port: () => port })
  const bodies = new BodyReader(settings, runtime.platform)
  const access = new AccessCheck(principals)
  const admission = new Admission(runtime.load)
  const ending = { isClosing: () => isClosing, hasFailed }
  const pendingEntities = new PendingEntities(runtime, ending)
  const { unsentBytesMax } = options
  const parts = { access, bodies, admission, pendingEntities }
  const router = new Router({ routes, server, ...parts, headerBytesMax, unsentBytesMax, log, ...ending })
  measureRoutes(metrics, router, bodies, admission)
  measureService(metrics, context)
  port = await server.listen(settings.host, settings.port)
  const stopNoting = noteUses(runtime, principals)
  const url = `${tls === undefined ? 'http' : 'https'}://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`
  log.info({ url, home: settings.home, lastSequence: runtime.journal.lastSequence }, 'listening')
  const stopTelling = tellOfRefusals(runtime, log, hasFailed)
  const stopCounting = tellOfOpenFiles(runtime.platform, log, settings.home)
  tellOfSlowCommits(runtime, log)
  const stopWarning = tellOfCertificate(runtime.platform, log, context.certificateEndMs)
  let stopped: Promise<void> | undefined
  const close = async (): Promise<void> => {
    log.info('stopping')
    isClosing = true
    stopNoting()
    stopTelling()
    stopCounting()
    stopWarning()
    server.stopListening()
    for (const callback of closing) callback()
    await answered(router, runtime.platform)
    if (router.pending.count > 0) {
      log.warn({ requests: router.pending.count }, 'stopping: cutting off requests that did not finish in time')
      server.close()
    }
    await runtime.close()
    await new Promise<void>((resolve) => runtime.platform.setTimer(resolve, FLUSH_MS))
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

/** Resolves once every accepted request is answered, or DRAIN_MS have passed. */
function answered({ pending }: Router, platform: Platform): Promise<void> {
  return new Promise((resolve) => {
    const timer = platform.setTimer(resolve, DRAIN_MS)
    pending.whenNone(() => {
      platform.clearTimer(timer)
      resolve()
    })
  })
}

/**
 * Records which tokens were used: at most once a minute, and only for tokens used since. Returns a function that ends
 * it.
 */
function noteUses(runtime: Runtime, principals: Principals): () => void {
  const { platform } = runtime
  const note = (): void => {
    timer = platform.setTimer(note, NOTE_USE_EVERY_MS)
    for (const id of principals.takeUsed()) runtime.ask({ kind: 'token', id }, { type: 'note_use' }, () => {})
  }
  let timer = platform.setTimer(note, NOTE_USE_EVERY_MS)
  return () => platform.clearTimer(timer)
}

/**
 * Logs when the service stops taking writes for want of space, and when it takes them again. Returns a function that
 * ends it.
 */
function tellOfRefusals({ journal, platform }: Runtime, log: Logger, hasFailed: () => boolean): () => void {
  let told: string | undefined
  const look = (): void => {
    timer = platform.setTimer(look, REFUSALS_EVERY_MS)
    const reason = journal.refuses()
    // A view backlog lasts only moments and is not logged.
    if (reason === told || reason === 'view_backlog' || hasFailed()) return
    if (reason === undefined) log.warn({ reason: told }, 'disk space is available: the service accepts writes again')
    else
      log.warn({ reason }, `the service is read-only: it accepts no writes until ${ROOM[reason] ?? 'it is restarted'}`)
    told = reason
  }
  let timer: unknown
  look()
  return () => platform.clearTimer(timer)
}

/**
 * A timer or turn may run into a journal that has failed. The failure is, or is about to be, reported with its cause,
 * and that ends the process in an orderly way. An uncaught JournalFailure would instead kill the process in the midst
 * of its answers, so it is swallowed here.
 */
function failingQuietly(platform: Platform): Platform {
  const quietly = (run: () => void) => () => {
    try {
      run()
    } catch (error) {
      if (!(error instanceof JournalFailure)) throw error
    }
  }
  return {
    wallMs: () => platform.wallMs(),
    monotonicMs: () => platform.monotonicMs(),
    randomHex: (digits) => platform.randomHex(digits),
    setTimer: (callback, afterMs) => platform.setTimer(quietly(callback), afterMs),
    clearTimer: (timer) => platform.clearTimer(timer),
    nextTurn: (callback) => platform.nextTurn(quietly(callback)),
  }
}

/** Two callers may report the same failure; only the first report counts. */
function once(tell: (failure: Error) => void): (failure: Error) => void {
  let isTold = false
  return (failure) => {
    if (!isTold) tell(failure)
    isTold = true
  }
}

function endProcess(log: Logger, failure: Error): void {
  log.fatal({ err: failure }, 'the service cannot continue and is exiting; start it again')
  setTimeout(() => process.exit(1), FATAL_EXIT_MS)
}
