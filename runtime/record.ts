/**
 * An actor's stored record: one JSON text with everything the runtime needs to load the actor again.
 * The snapshot inside is XState's own persisted form, so that `createActor(machine, { snapshot })` opens it.
 */
import { cachedJson } from '../machines/cached-json.ts'
import type { MachineModule, SnapshotOf } from '../machines/machine.ts'
import { parsedRecord } from '../storage/checked-text.ts'
import type { Stepper } from './stepper.ts'

/** A durable timer as its actor remembers it: enough to delete its row and to recognize a late fire. */
interface KnownTimer {
  readonly dueMs: number
  readonly generation: number
}

export interface ActorRecord {
  readonly snapshot: SnapshotOf<any>
  readonly version: number
  /** Number of the last outbox row that this actor wrote; 0: none (runtime/message-number.ts). */
  readonly outboxNumber: number
  readonly timers: Readonly<Record<string, KnownTimer>>
  /** By sender (`kind/id`), the number of its last message that was applied. */
  readonly seen: Readonly<Record<string, number>>
  /** The stored text has exactly this shape, so a change can be stored against it. False if absent or just migrated. */
  readonly isStored: boolean
}

/** This version of the machine cannot open the record; the actor is quarantined. */
class RecordUnreadable extends Error {
  override readonly name = 'RecordUnreadable'
}

const EMPTY = Object.freeze({})

type Written = Pick<MachineModule, 'version' | 'cachedMembers'>

export function encodeRecord({ version, cachedMembers }: Written, record: ActorRecord): string {
  const { snapshot } = record
  const timers = record.timers === EMPTY ? '{}' : JSON.stringify(record.timers)
  const seen = record.seen === EMPTY ? '{}' : JSON.stringify(record.seen)
  // Only plain states without children or history are admitted (runtime/stepper.ts), so this is the whole
  // persisted form, at half the cost of getPersistedSnapshot and one more stringify.
  return (
    `{"mv":${version},"v":${record.version},"n":${record.outboxNumber},"t":${timers},"seen":${seen},` +
    `"s":{"status":"${snapshot.status}","value":${JSON.stringify(snapshot.value)},"historyValue":{},"children":{},` +
    `"context":${cachedMembers === undefined ? JSON.stringify(snapshot.context) : contextText(snapshot.context, cachedMembers)}}}`
  )
}

/** Lasting members are serialized once, by `cachedJson`. */
function contextText(context: Record<string, unknown>, lasting: readonly string[]): string {
  const rest: Record<string, unknown> = Object.assign({}, context)
  let text = ''
  for (const member of lasting) {
    const value = context[member]
    // The context of an entity that was never created has no lasting members.
    if (value === undefined) return JSON.stringify(context)
    text += `${text === '' ? '' : ','}"${member}":${cachedJson(value as object)}`
    rest[member] = undefined
  }
  const others = JSON.stringify(rest)
  return others === '{}' ? `{${text}}` : `{${text},${others.slice(1)}`
}

/**
 * What the step changed, in the form of storage/log/record-change.ts; undefined if the record must be written whole.
 * Hot: a context member that is the same object as before counts as unchanged and is not looked into.
 */
export function encodeChange(before: ActorRecord, after: ActorRecord): string | undefined {
  if (!before.isStored) return undefined
  let text = `{"v":${after.version}`
  if (after.outboxNumber !== before.outboxNumber) text += `,"n":${after.outboxNumber}`
  if (after.timers !== before.timers) text += `,"t":${JSON.stringify(after.timers)}`
  if (after.seen !== before.seen) text += `,"seen":${JSON.stringify(after.seen)}`
  if (after.snapshot.value !== before.snapshot.value) text += `,"value":${JSON.stringify(after.snapshot.value)}`
  const was = before.snapshot.context
  const is = after.snapshot.context
  return was === is ? `${text}}` : `${text}${contextChange(was, is)}}`
}

function contextChange(was: Record<string, unknown>, is: Record<string, unknown>): string {
  let set = ''
  let unset = ''
  for (const member in is) {
    const value = is[member]
    if (value === was[member]) continue
    if (value === undefined) unset += `${unset === '' ? '' : ','}"${member}"`
    else set += `${set === '' ? '' : ','}"${member}":${JSON.stringify(value)}`
  }
  for (const member in was) if (!(member in is)) unset += `${unset === '' ? '' : ','}"${member}"`
  return (set === '' ? '' : `,"set":{${set}}`) + (unset === '' ? '' : `,"unset":[${unset}]`)
}

/** Throws RecordUnreadable, with the cause kept. */
export function decodeRecord(stepper: Stepper, text: string): ActorRecord {
  try {
    const stored = parsedRecord(text)
    return {
      snapshot: stepper.restore(migrate(stepper, stored.mv, stored.s)),
      version: stored.v,
      outboxNumber: stored.n,
      timers: emptyOr(stored.t),
      seen: emptyOr(stored.seen),
      isStored: stored.mv === stepper.module.version,
    }
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new RecordUnreadable(detail, { cause })
  }
}

/** The record of an entity that does not exist yet. */
export function absentRecord(stepper: Stepper): ActorRecord {
  return { snapshot: stepper.initial, version: 0, outboxNumber: 0, timers: EMPTY, seen: EMPTY, isStored: false }
}

function migrate(stepper: Stepper, storedVersion: number, persisted: unknown): unknown {
  const { module } = stepper
  if (storedVersion > module.version)
    throw new Error(`written by machine version ${storedVersion}; this program knows ${module.version}`)
  let snapshot = persisted
  for (let version = storedVersion; version < module.version; version++) {
    const migration = module.migrations[version]
    if (migration === undefined) throw new Error(`no migration from machine version ${version}`)
    snapshot = migration(snapshot)
  }
  return snapshot
}

function emptyOr<T extends object>(value: T): T {
  for (const _ in value) return value
  return EMPTY as T
}
