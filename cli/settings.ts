/**
 * The service's settings: flag, then environment, then `ENGINE_HOME/config.json`, then the default. A setting has
 * one name in three spellings (`--late-events`, `ENGINE_LATE_EVENTS`, `late_events`), and a value that cannot be
 * read is refused by name: nothing falls back silently.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { doubledMember } from '../http/bodies/json-shape.ts'
import { defaultSettings, type Settings, SMALL_BODIES_SHARE } from '../runtime/settings.ts'
import { CliFailure } from './exit.ts'
import { DURATION_MS_MAX, readDuration, readInteger, readSize, showDuration, showSize } from './units.ts'

interface SettingSpec {
  /** As in config.json. */
  readonly name: string
  readonly placeholder: string
  readonly help: string
  /** The value; undefined if the text is not valid. */
  readonly read: (text: string) => unknown
  readonly expected: string
  /** Its field in Settings, and the default as a user would write it. */
  readonly field: keyof Settings | 'certFile' | 'keyFile'
  readonly byDefault?: string
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

function duration(
  name: string,
  field: keyof typeof defaultSettings & string,
  help: string,
  longestMs = DURATION_MS_MAX,
  shortestMs = 1,
): SettingSpec {
  const least = shortestMs === 1 ? '' : `, at least ${showDuration(shortestMs)}`
  return {
    name,
    placeholder: 'DURATION',
    help,
    field,
    read: (text) => {
      const ms = readDuration(text)
      return ms === undefined || ms < shortestMs || ms > longestMs ? undefined : ms
    },
    expected: `a duration with its unit, such as 500ms, 30s, 10m, 24h or 7d${least}, at most ${showDuration(longestMs)}`,
    ...(typeof defaultSettings[field] === 'number'
      ? { byDefault: showDuration(defaultSettings[field] as number) }
      : {}),
  }
}

function size(
  name: string,
  field: keyof typeof defaultSettings & string,
  help: string,
  smallest = 1024,
  largest = Number.POSITIVE_INFINITY,
): SettingSpec {
  const most = largest === Number.POSITIVE_INFINITY ? '' : `, at most ${showSize(largest)}`
  return {
    name,
    placeholder: 'SIZE',
    help,
    field,
    read: (text) => {
      const bytes = readSize(text)
      return bytes === undefined || bytes < smallest || bytes > largest ? undefined : bytes
    },
    expected: `a size in bytes, or with a unit such as 64KiB, 1MiB or 2GiB, at least ${showSize(smallest)}${most}`,
    byDefault: showSize(defaultSettings[field] as number),
  }
}

/** A limit for engines, which the service states but does not enforce. */
function majorTasks(name: string, field: 'majorTasksPerProject' | 'majorTasksPerNight', of: string): SettingSpec {
  return {
    name,
    placeholder: 'NUMBER',
    help: `Maximum number of major upgrades that an engine's maintenance dispatches ${of}.`,
    field,
    read: (text) => readInteger(text, 0, 1_000),
    expected: 'a whole number from 0 to 1000',
    byDefault: String(defaultSettings[field]),
  }
}

function file(name: string, field: 'certFile' | 'keyFile', help: string): SettingSpec {
  return { name, placeholder: 'FILE', help, field, read: (text) => resolve(text), expected: 'the path of a file' }
}

/** A Node.js timer holds at most 2^31 - 1 ms; deadlines kept in one stay well below. */
const DEADLINE_MS_MAX = 24 * 3_600_000
/**
 * A runner sends at most one heartbeat a second (`engine/service-limits.ts`): a shorter lease would end with one late
 * heartbeat.
 */
const LEASE_MS_MIN = 3_000

/** Every setting but the home folder, from which the others are read. */
export const SETTINGS: readonly SettingSpec[] = [
  {
    name: 'host',
    placeholder: 'ADDRESS',
    help: 'Address to listen on.',
    field: 'host',
    read: (text) => (/^\S+$/.test(text) ? text : undefined),
    expected: 'an address or a host name of this machine',
    byDefault: defaultSettings.host,
  },
  {
    name: 'port',
    placeholder: 'PORT',
    help: 'Port to listen on; 0 chooses a free one.',
    field: 'port',
    read: (text) => readInteger(text, 0, 65_535),
    expected: 'a number from 0 to 65535',
    byDefault: String(defaultSettings.port),
  },
  file('tls_cert', 'certFile', 'Certificate chain (PEM). With tls_key: listen with TLS.'),
  file('tls_key', 'keyFile', 'Private key of the certificate (PEM).'),
  {
    name: 'log_level',
    placeholder: 'LEVEL',
    help: `What to log: ${LOG_LEVELS.join(', ')}.`,
    field: 'logLevel',
    read: (text) => (LOG_LEVELS.includes(text) ? text : undefined),
    expected: `one of ${LOG_LEVELS.join(', ')}`,
    byDefault: defaultSettings.logLevel,
  },
  duration('offer', 'offerMs', 'How long a runner may take to accept an offer.', DEADLINE_MS_MAX),
  duration(
    'lease',
    'leaseMs',
    'How long a run survives without a call from its runner; at least 3s.',
    DEADLINE_MS_MAX,
    LEASE_MS_MIN,
  ),
  duration('grace', 'graceMs', 'How long a cancelled run may take to stop.'),
  duration('presence', 'presenceMs', 'Time without a call after which a runner is offline.', DEADLINE_MS_MAX),
  duration('late_events', 'lateEventsMs', 'How long events of a settled run are still recorded.'),
  duration(
    'idempotency',
    'idempotencyMs',
    'How long an idempotency key is kept; for a run request, from its settlement.',
  ),
  {
    name: 'max_running',
    placeholder: 'NUMBER',
    help: 'Maximum number of work items running at once. Default: the slots of the online runners.',
    field: 'maxRunning',
    read: (text) => readInteger(text, 0, 1_000_000),
    expected: 'a whole number from 0 to 1000000',
  },
  majorTasks('major_tasks_per_project', 'majorTasksPerProject', 'for one project'),
  majorTasks('major_tasks_per_night', 'majorTasksPerNight', 'in a night; reported as per_night_cap'),
  duration('retention', 'retentionMs', 'Remove older events from the log. Default: events are kept forever.'),
  size('body_max', 'bodyBytesMax', 'Largest request body.'),
  size('events_body_max', 'eventsBodyBytesMax', 'Largest body of a post of events.'),
  size('event_max', 'eventBytesMax', 'Largest single event.'),
  size('header_max', 'headerBytesMax', 'Largest total size of a request’s headers.', 4096),
  size(
    'bodies_in_flight_max',
    'bodiesInFlightBytesMax',
    'Largest total size of bodies being received at once; uploads may take half. At least body_max and events_body_max; unless set, it grows with them.',
  ),
  size('ingest_max', 'ingestBytesMax', 'Largest body of an ingest.'),
  size('disk_reserve', 'diskReserveBytes', 'Free disk space below which writes are refused.', 0),
  size('log_file_max', 'logFileBytesMax', 'Size at which a new file of the event log is begun.', 64 * 1024, 1024 ** 3),
]

interface SettingSources {
  /** Values from the command line as text, by the setting's name. */
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly env: NodeJS.ProcessEnv
  /** Text of a file; undefined if it does not exist. */
  readonly readFile?: (path: string) => string | undefined
}

/** @throws CliFailure naming the setting, where it was given, and what is expected. */
export function loadSettings(sources: SettingSources): Settings {
  const home = resolveHome(sources.flags.home, sources.env)
  const config = readConfig(home, sources.readFile ?? ((path) => readIfThere(path)))
  const values: Record<string, unknown> = { ...defaultSettings }
  /** Where each value was given, by field. */
  const from: Record<string, string> = {}
  for (const spec of SETTINGS) {
    const given = lookUp(spec, sources, config, home)
    if (given === undefined) continue
    const value = spec.read(given.text)
    if (value === undefined) throw new CliFailure(`${given.where} is "${given.text}": ${spec.expected} is expected.`)
    values[spec.field] = value
    from[spec.field] = given.where
  }
  values.bodiesInFlightBytesMax = roomForBodies(values as unknown as Settings, from)
  const { certFile, keyFile, ...rest } = values
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [there, missing] = certFile === undefined ? ['tls_key', 'tls_cert'] : ['tls_cert', 'tls_key']
    throw new CliFailure(`${there} is set and ${missing} is not: TLS needs both.`)
  }
  return { ...rest, home, ...(certFile === undefined ? {} : { tls: { certFile, keyFile } }) } as Settings
}

/** A body larger than the memory for all bodies would be refused again and again. @throws CliFailure */
function roomForBodies(values: Settings, from: Readonly<Record<string, string>>): number {
  const { bodiesInFlightBytesMax: room, bodyBytesMax, eventsBodyBytesMax } = values
  const field = bodyBytesMax >= eventsBodyBytesMax ? 'bodyBytesMax' : 'eventsBodyBytesMax'
  const largest = values[field]
  const where = from.bodiesInFlightBytesMax
  if (where === undefined) return Math.max(room, Math.ceil(largest / (1 - SMALL_BODIES_SHARE)))
  if (room >= largest) return room
  const ofBody = from[field] ?? `the default of ${SETTINGS.find((spec) => spec.field === field)!.name}`
  throw new CliFailure(
    `${where} is ${showSize(room)}, less than ${ofBody}, which is ${showSize(largest)}: no such body could ever be received. Set it to at least as much, or leave it out.`,
  )
}

/** `--home`, then ENGINE_HOME, then `~/.engine`. Absolute. */
export function resolveHome(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  if (flag === '') throw new CliFailure('--home is empty: the path of a folder is expected.')
  const given = flag ?? (env.ENGINE_HOME === '' ? undefined : env.ENGINE_HOME)
  return resolve(given ?? join(homedir(), '.engine'))
}

/** Where a service with this home listens according to its settings. */
export function defaultUrl(home: string, env: NodeJS.ProcessEnv): string {
  const { host, port, tls } = loadSettings({ flags: { home }, env })
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return `${tls === undefined ? 'http' : 'https'}://${address}:${port === 0 ? defaultSettings.port : port}`
}

function lookUp(
  spec: SettingSpec,
  { flags, env }: SettingSources,
  config: Readonly<Record<string, unknown>>,
  home: string,
): { readonly text: string; readonly where: string } | undefined {
  const flag = flags[spec.name]
  if (flag !== undefined) return { text: flag, where: flagOf(spec) }
  const variable = env[envOf(spec)]
  if (variable !== undefined && variable !== '') return { text: variable, where: envOf(spec) }
  const value = config[spec.name]
  if (value === undefined) return undefined
  return { text: String(value), where: `"${spec.name}" in ${configPath(home)}` }
}

export function flagOf(spec: SettingSpec): string {
  return `--${spec.name.replaceAll('_', '-')}`
}

export function envOf(spec: SettingSpec): string {
  return `ENGINE_${spec.name.toUpperCase()}`
}

function configPath(home: string): string {
  return join(home, 'config.json')
}

function readConfig(home: string, readFile: (path: string) => string | undefined): Readonly<Record<string, unknown>> {
  const path = configPath(home)
  const text = readFile(path)
  if (text === undefined) return {}
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (cause) {
    throw new CliFailure(`${path} is not JSON: ${(cause as Error).message}`, undefined, cause)
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new CliFailure(`${path} must hold one JSON object, such as {"port": 7171, "lease": "60s"}.`)
  }
  const doubled = doubledMember(text)
  if (doubled !== undefined) throw new CliFailure(`"${doubled.slice(1)}" is in ${path} twice: remove one of the two.`)
  const known = SETTINGS.map((spec) => spec.name)
  for (const [name, value] of Object.entries(config)) {
    if (!known.includes(name))
      throw new CliFailure(`"${name}" in ${path} is not a setting. Known settings: ${known.join(', ')}.`)
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new CliFailure(`"${name}" in ${path} must be a string or a number.`)
    }
  }
  return config as Record<string, unknown>
}

/** Undefined if there is no such file. */
export function readIfThere(path: string, read = (file: string) => readFileSync(file, 'utf8')): string | undefined {
  try {
    return read(path)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const whose = code === 'EACCES' ? '; run this as the user whose home it is, or give them the folder (chown -R)' : ''
    throw new CliFailure(`${path} cannot be read: ${(cause as Error).message}${whose}`, undefined, cause)
  }
}
