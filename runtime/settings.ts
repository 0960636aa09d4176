/**
 * The settings of a service, in one typed object: read once at start (flag, then environment, then
 * `ENGINE_HOME/config.json`, then the default), shown without secrets by `/api/version`.
 */
export interface Settings {
  /** Directory of everything the service stores. Absolute. */
  readonly home: string
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

  /** How long a runner may take to accept an offer. */
  readonly offerMs: number
  /** How long an accepted or started request lives without a word from its runner. */
  readonly leaseMs: number
  /** How long a cancelled run may take to stop. */
  readonly graceMs: number
  /** Without a call for this long a runner is offline. */
  readonly presenceMs: number
  /** How long events of a settled attempt are still recorded. */
  readonly lateEventsMs: number
  /** How long an idempotency key is kept after settlement. */
  readonly idempotencyMs: number

  /** Most work items running or handed out at one time; undefined: the slots of the runners that are online. */
  readonly maxRunning?: number

  /** Most major upgrades that one maintenance run dispatches for one project; engines are told, and enforce it. */
  readonly majorTasksPerProject: number
  /** The same per night, over all projects: engines report it as `per_night_cap`. */
  readonly majorTasksPerNight: number

  /** Largest request body. */
  readonly bodyBytesMax: number
  /** Largest body of a post of events. */
  readonly eventsBodyBytesMax: number
  /** Largest single event. */
  readonly eventBytesMax: number
  /** Largest sum of all headers of a request. */
  readonly headerBytesMax: number
  /** Sum of the bodies being received at one moment; uploads may take half of it (http/bodies/body-room.ts). */
  readonly bodiesInFlightBytesMax: number
  /** Largest body of an ingest, which is streamed. */
  readonly ingestBytesMax: number

  /** Events older than this are removed from the log; undefined keeps them for ever. */
  readonly retentionMs?: number
  /** Free space under which writes are refused (503) while reads go on. */
  readonly diskReserveBytes: number
  /** Size at which a new file of the event log is begun. */
  readonly logFileBytesMax: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** Share of `bodiesInFlightBytesMax` that is reserved for small bodies. */
export const SMALL_BODIES_SHARE = 1 / 8

/** Each setting's value unless another is given. `home` has no default here: the command line resolves it. */
export const defaultSettings: Omit<Settings, 'home'> = {
  host: '127.0.0.1',
  port: 7171,
  logLevel: 'info',
  offerMs: 30_000,
  leaseMs: 60_000,
  graceMs: 60_000,
  presenceMs: 180_000,
  lateEventsMs: 600_000,
  idempotencyMs: 86_400_000,
  majorTasksPerProject: 2,
  majorTasksPerNight: 6,
  bodyBytesMax: MIB,
  eventsBodyBytesMax: 2 * MIB,
  eventBytesMax: 512 * KIB,
  headerBytesMax: 16 * KIB,
  bodiesInFlightBytesMax: 256 * MIB,
  ingestBytesMax: 1024 * MIB,
  diskReserveBytes: 256 * MIB,
  logFileBytesMax: 64 * MIB,
}
