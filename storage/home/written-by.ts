/**
 * Which program has written a home, and whether this one may open it. Two things decide: the schema, which is the
 * format of log and view, and the versions of the machines, which are the format of the records. A program that does
 * not know a version would find its records unreadable one by one, serve lists without them, and write. So each start
 * puts its schema and versions into the log's head with its first write: they are on disk before the first record of
 * theirs, and the head is read before anything else.
 */
import { modules } from '../../machines/index.ts'
import { HEAD_MACHINES, HEAD_SCHEMA, type LogTables } from '../environments.ts'
import { HomeRefused } from './home-refused.ts'

/**
 * The format of both environments. A change of it needs a new number; a change of a machine does not. Programs that
 * write 3 or less check only this number: 4 is the first under which the versions of the machines are checked, too.
 */
export const SCHEMA_VERSION = 4
/**
 * The oldest schema that is read. In schema 1 a row holds one event, and redo holds whole records; in 1 and 2 the log
 * is an LMDB environment (storage/log/lmdb-log.ts).
 */
const OLDEST_SCHEMA = 1

/** Kind -> version of its machine. */
type MachineVersions = Readonly<Record<string, number>>

/** The versions in this program. */
export function machineVersions(): MachineVersions {
  return Object.fromEntries(Object.values(modules).map(({ kind, version }) => [kind, version]))
}

/**
 * Refuses a log that this program cannot read, or some of whose records it cannot. A log without a schema is new. An
 * older one is read as it is, and becomes one of this version with the first write. Throws HomeRefused
 * `schema_version`.
 */
export function assertSchema(head: Pick<LogTables['head'], 'get'>, home: string): void {
  const text = head.get(HEAD_SCHEMA)
  const schema = Number(text)
  if (text === undefined) return
  const range = `this program reads ${OLDEST_SCHEMA} to ${SCHEMA_VERSION}`
  if (schema > SCHEMA_VERSION) throw ofNewer(home, `schema ${text}, ${range}`)
  if (!(schema >= OLDEST_SCHEMA)) {
    throw new HomeRefused(
      'schema_version',
      `${home} was written by an older version of Intendant (schema ${text}, ${range}): export its events with that version and import them into a new home`,
    )
  }
  const noted = head.get(HEAD_MACHINES)
  if (noted !== undefined) assertMachines(JSON.parse(noted) as MachineVersions, home)
}

/**
 * Refuses versions newer than this program's, or of kinds that it does not know. Throws HomeRefused `schema_version`.
 */
export function assertMachines(noted: MachineVersions, home: string): void {
  const known = machineVersions()
  const newer = Object.entries(noted).flatMap(([kind, version]) => {
    const knows = known[kind]
    if (knows !== undefined && version <= knows) return []
    return [`${kind} of version ${version}; this program knows ${knows ?? 'none'}`]
  })
  if (newer.length > 0) throw ofNewer(home, newer.join('; '))
}

function ofNewer(home: string, what: string): HomeRefused {
  return new HomeRefused(
    'schema_version',
    `${home} was written by a newer version of Intendant (${what}): start that version, or restore a backup from before the upgrade`,
  )
}
