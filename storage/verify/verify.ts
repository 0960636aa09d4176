import { CorruptRow, parsedRecord } from '../checked-text.ts'
import { assertManifest, lockAgainstWriters } from '../copies/backup-manifest.ts'
import {
  type Environments,
  HEAD_EPOCH,
  HEAD_FLOOR,
  HEAD_LAST,
  type Key,
  MARKER,
  type Marker,
  type ReadTransaction,
} from '../environments.ts'
import { asHomeRefused, assertWhole } from '../home/home-checks.ts'
import { openEnvironments } from '../home/home-environments.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { TemporaryFolderFailed } from '../home/separate-reader.ts'
import { assertSchema } from '../home/written-by.ts'
import { type EventIdentity, historiesOf, identityIfAny, identityOf } from '../log/event-identity.ts'
import { EventRows } from '../log/event-rows.ts'
import { paced } from '../paced.ts'
import { isShortage } from '../read-fault.ts'
import { TRIM_EVENTS_MAX } from '../retention/forgetter.ts'
import { forgottenOf } from '../retention/forgotten-times.ts'
import { unpackChunk } from '../view/history-chunk.ts'
import { NOTE } from '../view/indexes.ts'
import { keyPart } from '../view/keys.ts'
import { eventIdKey } from '../view/view.ts'
import { Assertions } from './assertions.ts'
import type { FindingCode } from './finding-codes.ts'
import { Findings, reportOf, type VerifyHooks, type VerifyReport } from './findings.ts'
import { Fingerprint } from './fingerprint.ts'
import { ListCheck } from './list-check.ts'

/** Refusal codes that do not mean that the home is damaged. */
const NO_FAULT_OF_IT: readonly string[] = ['locked', 'schema_version', 'not_permitted']

/**
 * Verifies a backup, or a home that is not in service and stays out of it meanwhile. Whatever prevents the check is
 * reported as a finding, unless it is no fault of the home: rejects with HomeRefused `locked`, `schema_version` or
 * `not_permitted`, with TemporaryFolderFailed, and if the system is short of open files or memory.
 */
export async function verifyHome(home: string, hooks: VerifyHooks = {}): Promise<VerifyReport> {
  try {
    const guard = await lockAgainstWriters(home)
    try {
      await assertWhole(home, 'every')
      assertManifest(home)
      const report = await verifyWhole(home, hooks)
      guard?.assertKept()
      return report
    } finally {
      await guard?.release()
    }
  } catch (error) {
    if (error instanceof TemporaryFolderFailed || isShortage(error)) throw error
    const refusal = asHomeRefused(home, error)
    if (refusal instanceof HomeRefused && NO_FAULT_OF_IT.includes(refusal.code)) throw refusal
    return reportOf({ code: 'unreadable', where: home, detail: (error as Error).message })
  }
}

/** The same for files whose pages have just been checked. Rejects with whatever prevents opening them. */
export async function verifyWhole(home: string, hooks: VerifyHooks = {}): Promise<VerifyReport> {
  const environments = await openEnvironments(home, (head) => assertSchema(head, home), { readOnly: true })
  try {
    return await verify(environments, hooks)
  } finally {
    await environments.close()
  }
}

/** Verifies the environments of an open journal. Rejects only if the system is short of open files or memory. */
export async function verify(environments: Environments, hooks: VerifyHooks = {}): Promise<VerifyReport> {
  const run = new Verification(environments, hooks)
  return run.all()
}

class Verification {
  readonly #log: Environments['log']
  readonly #rows: EventRows
  readonly #view: Environments['view']
  readonly #hooks: VerifyHooks
  /** Copied into the options of a range, never passed as they are: lmdb-js writes into those. */
  readonly #ofView: { readonly transaction: ReadTransaction }
  readonly #ofLog: { readonly transaction: ReadTransaction }
  readonly #findings = new Findings()
  /** Undefined until the events are read. */
  #assertions: Assertions | undefined
  #events = 0
  #entities = 0
  #floor = 1
  #lastSequence = 0
  #marker: Marker = { epoch: '', batch: 0, sequence: 0 }
  /** What the events require in the view's indexes, and what is found there. */
  readonly #idsWanted = new Fingerprint()
  readonly #idsFound = new Fingerprint()
  readonly #historiesWanted = new Fingerprint()
  readonly #historiesFound = new Fingerprint()
  readonly #lists: ListCheck
  /** Timers that entities need and that were not found yet. */
  readonly #timers = new Set<string>()

  constructor(environments: Environments, hooks: VerifyHooks) {
    this.#log = environments.log
    this.#rows = new EventRows(environments.log.events)
    this.#view = environments.view
    this.#hooks = hooks
    this.#ofView = { transaction: environments.view.env.useReadTransaction() }
    // A service may have written since the log was opened; the log must not be seen in a state older than the view's.
    environments.log.env.refresh()
    this.#ofLog = { transaction: environments.log.env.useReadTransaction() }
    this.#lists = new ListCheck({ view: this.#view, hooks, findings: this.#findings, reading: this.#ofView })
  }

  async all(): Promise<VerifyReport> {
    try {
      await this.#part('head', () => this.#heads())
      await this.#part('events', () => this.#eventRows())
      await this.#part('event ids', () => this.#eventIds())
      await this.#part('histories', () => this.#histories())
      await this.#part('snapshots', () => this.#snapshots())
      await this.#part('entities', () => this.#lists.rows())
      await this.#part('counts', () => this.#lists.counts())
      await this.#part('timers, outbox and kept keys', () => this.#owned())
    } finally {
      this.#ofView.transaction.done()
      this.#ofLog.transaction.done()
    }
    const { all, count } = this.#findings
    return { findings: all, findingsCount: count, events: this.#events, entities: this.#entities }
  }

  /** Damage that ends the reading of one table must not hide what is in the others. */
  async #part(where: string, look: () => void | Promise<void>): Promise<void> {
    try {
      await look()
    } catch (error) {
      if (isShortage(error)) throw error
      this.#find('unreadable', where, (error as Error).message)
    }
  }

  #find(code: FindingCode, where: string, detail: string): void {
    this.#findings.add(code, where, detail)
  }

  #heads(): void {
    const { head, redo } = this.#log
    const [lastBatch, lastSequence] = (head.get(HEAD_LAST, this.#ofLog) ?? '0 0').split(' ').map(Number) as [
      number,
      number,
    ]
    this.#floor = Number(head.get(HEAD_FLOOR, this.#ofLog) ?? 1)
    const text = this.#view.marker.get(MARKER, this.#ofView)
    if (text !== undefined) this.#marker = JSON.parse(text) as Marker
    if (text !== undefined && this.#marker.epoch !== head.get(HEAD_EPOCH, this.#ofLog)) {
      this.#find('view_of_another_log', 'marker', `the view belongs to log ${this.#marker.epoch}`)
    }
    if (this.#marker.batch > lastBatch)
      this.#find('view_ahead', 'marker', `batch ${this.#marker.batch} of ${lastBatch}`)
    const versions = new Map<string, number>()
    for (let batch = this.#marker.batch + 1; batch <= lastBatch; batch += 1) {
      const row = this.#read(`redo of batch ${batch}`, () => redo.get(batch, this.#ofLog))
      if (row === undefined)
        this.#find('redo_missing', `redo of batch ${batch}`, 'the view cannot be brought up to date')
      else this.#redo(batch, row, versions)
    }
    this.#lastSequence = lastSequence
    // A retention step under way or cut short leaves up to one step's rows, and part of another row; the next step
    // removes them.
    const below = this.#log.events.getKeysCount({ ...this.#ofLog, end: this.#floor, limit: TRIM_EVENTS_MAX + 2 })
    if (below > TRIM_EVENTS_MAX + 1)
      this.#find('below_floor', 'events', `more than ${TRIM_EVENTS_MAX} rows before ${this.#floor}`)
  }

  /** @param versions of the records that earlier batches have changed, by kind and id; this batch's are added. */
  #redo(batch: number, row: string, versions: Map<string, number>): void {
    const where = `redo of batch ${batch}`
    const { b, s } = JSON.parse(row) as { b: number; s: readonly { k: string; i: string; v: number; d?: object }[] }
    if (b !== batch) this.#find('redo_wrong', where, 'holds another batch')
    for (const { k: kind, i: id, v: version, d: change } of s) {
      const before = versions.get(`${kind}\n${id}`) ?? this.#versionOf(kind, id)
      if (change !== undefined && before !== version - 1)
        this.#find('redo_wrong', where, `makes version ${version} of ${kind} ${id}, which has version ${before}`)
      versions.set(`${kind}\n${id}`, version)
    }
  }

  /** Version of a record in the view. */
  #versionOf(kind: string, id: string): number {
    const text = this.#read(`${kind} ${id}`, () => this.#view.snapshots.get([kind, id], this.#ofView))
    return text === undefined ? 0 : (JSON.parse(text) as { v: number }).v
  }

  async #eventRows(): Promise<void> {
    const text = (sequence: number) => this.#textOf(sequence)
    const forgotten = forgottenOf(this.#log.head, this.#ofLog)
    this.#assertions = new Assertions({
      hooks: this.#hooks,
      findings: this.#findings,
      floor: this.#floor,
      forgotten,
      text,
    })
    let expected = this.#floor
    for await (const first of paced(this.#rows.firsts(this.#floor, this.#ofLog))) {
      const texts = this.#read(`events from ${first}`, () => this.#rows.row(first, this.#ofLog))
      if (first > expected) this.#find('hole', `event ${expected}`, `the next one is ${first}`)
      // Only the next row tells how many events an unreadable row held.
      expected = texts === undefined ? Number.POSITIVE_INFINITY : first + texts.length
      for (const [i, text] of (texts ?? []).entries()) if (first + i >= this.#floor) this.#eventOf(first + i, text)
    }
    if (expected <= this.#lastSequence) this.#find('hole', `event ${expected}`, `the last one is ${this.#lastSequence}`)
  }

  #eventOf(sequence: number, text: string): void {
    this.#events += 1
    const where = `event ${sequence}`
    try {
      this.#event(sequence, text, where)
    } catch (error) {
      if (isShortage(error)) throw error
      this.#find('unreadable', where, (error as Error).message)
    }
  }

  #event(sequence: number, text: string, where: string): void {
    const identity = identityOf(text)
    const computed = this.#hooks.eventId?.(text)
    if (computed !== undefined && computed !== identity.id)
      this.#find('wrong_id', where, `${identity.id} is not ${computed}`)
    if (sequence > this.#marker.sequence) return
    this.#idsWanted.add(`${idKeyOf(identity).join('\n')}\n${sequence}`)
    for (const [of, id] of historiesOf(identity)) this.#historiesWanted.add(`${of}\n${keyPart(id)}\n${sequence}`)
    this.#assertions?.event(sequence, text)
  }

  /** Checks event ids; reads the events again if they disagree. */
  async #eventIds(): Promise<void> {
    const { eventIds } = this.#view
    for await (const { key, value } of paced(eventIds.getRange({ ...this.#ofView }))) {
      if (Number(value) >= this.#floor) this.#idsFound.add(`${key.join('\n')}\n${value}`)
    }
    if (this.#idsFound.equals(this.#idsWanted)) return
    for await (const { sequence, identity } of this.#applied()) {
      const indexed = eventIds.get(idKeyOf(identity), this.#ofView)
      const where = `event ${sequence}`
      if (indexed === undefined) this.#find('not_indexed', where, 'its id is not in the index')
      else if (Number(indexed) !== sequence) this.#find('recorded_twice', where, `the index says ${indexed}`)
    }
    for await (const { key, value } of paced(eventIds.getRange({ ...this.#ofView }))) {
      const sequence = Number(value)
      if (sequence < this.#floor) continue
      const where = `event id ${key.join(' ')}`
      const identity = this.#identity(sequence)
      if (identity === undefined) this.#find('index_of_nothing', where, `there is no event ${sequence}`)
      else if (idKeyOf(identity).some((part, i) => part !== key[i])) {
        this.#find('index_wrong', where, `event ${sequence} is ${identity.id}`)
      }
    }
  }

  /** Checks the histories of traces and items; reads the events again if they disagree. */
  async #histories(): Promise<void> {
    for await (const { of, id, row, sequences } of this.#historyRows()) {
      const where = `history of ${of} ${id}`
      if (sequences.some((sequence, i) => i > 0 && !(sequence > sequences[i - 1]!))) {
        this.#find('history_disordered', where, `row ${row}`)
      }
      for (const sequence of sequences) {
        if (sequence >= this.#floor) this.#historiesFound.add(`${of}\n${id}\n${sequence}`)
      }
    }
    if (this.#historiesFound.equals(this.#historiesWanted)) return
    for await (const { sequence, identity } of this.#applied()) {
      for (const [of, id] of historiesOf(identity)) {
        if (this.#inHistory(of, id, sequence)) continue
        this.#find('not_in_history', `event ${sequence}`, `missing in the history of ${of} ${id}`)
      }
    }
    for await (const { of, id, sequences } of this.#historyRows()) {
      for (const sequence of sequences) {
        if (sequence < this.#floor) continue
        const identity = this.#identity(sequence)
        const said = identity === undefined ? [] : of === 'trace' ? [identity.traceId ?? ''] : identity.itemIds
        if (said.some((name) => keyPart(name) === id)) continue
        this.#find('history_wrong', `history of ${of} ${id}`, `event ${sequence} does not belong to it`)
      }
    }
  }

  async *#historyRows() {
    for await (const { key, value } of paced(this.#view.histories.getRange({ ...this.#ofView }))) {
      const [of, id, row] = key as ['trace' | 'item', string, number]
      yield { of, id, row, sequences: unpackChunk(row, value) }
    }
  }

  /** The events that the view holds, with what its indexes must hold for each; unreadable ones have been reported. */
  async *#applied() {
    for await (const first of paced(this.#rows.firsts(this.#floor, this.#ofLog))) {
      for (const [i, text] of (this.#textsFrom(first) ?? []).entries()) {
        const sequence = first + i
        const identity = sequence < this.#floor || sequence > this.#marker.sequence ? undefined : identityIfAny(text)
        if (identity !== undefined) yield { sequence, identity }
      }
    }
  }

  #textsFrom(first: number): readonly string[] | undefined {
    try {
      return this.#rows.row(first, this.#ofLog)
    } catch (error) {
      if (isShortage(error)) throw error
      return undefined
    }
  }

  #identity(sequence: number): EventIdentity | undefined {
    const text = this.#textOf(sequence)
    return text === undefined ? undefined : identityIfAny(text)
  }

  #textOf(sequence: number): string | undefined {
    try {
      return this.#rows.get(sequence, this.#ofLog)
    } catch (error) {
      if (isShortage(error)) throw error
      return undefined
    }
  }

  #inHistory(of: 'trace' | 'item', id: string, sequence: number): boolean {
    const prefix: Key = [of, keyPart(id)]
    const range = { ...this.#ofView, start: [...prefix, sequence], end: prefix, reverse: true, limit: 1 }
    for (const { key, value } of this.#view.histories.getRange(range)) {
      return unpackChunk(key[2] as number, value).includes(sequence)
    }
    return false
  }

  async #snapshots(): Promise<void> {
    for await (const { key, value } of paced(this.#view.snapshots.getRange({ ...this.#ofView }))) {
      this.#entities += 1
      const [kind, id] = key as [string, string]
      try {
        parsedRecord(value)
        this.#assertions?.record(kind, id, value)
        this.#lists.record(kind, id, value)
        for (const name of this.#hooks.timers?.(kind, id, value) ?? []) this.#timers.add(timerOf(kind, id, name))
      } catch (error) {
        this.#find('record_unreadable', `${kind} ${id}`, (error as Error).message)
      }
    }
    this.#assertions?.rest()
  }

  /**
   * Timers belong to living entities, and messages come from them; but a message that could not be delivered yet may
   * outlive its sender if retention has run. Reservations belong to no entity.
   */
  async #owned(): Promise<void> {
    const { timers, outbox, reservations } = this.#view
    for await (const key of paced(timers.getKeys({ ...this.#ofView }))) {
      const [, kind, id, name] = key as [number, string, string, string]
      this.#read(timerOf(kind, id, name), () => JSON.parse(timers.get(key, this.#ofView)!))
      this.#timers.delete(timerOf(kind, id, name))
      if (this.#view.snapshots.get([kind, id], this.#ofView) === undefined) {
        this.#find('timer_of_nothing', `${kind} ${id}`, `timer ${name}`)
      }
    }
    for (const timer of this.#timers) this.#find('timer_missing', timer, 'what it is to do would never be done')
    for await (const key of paced(outbox.getKeys({ ...this.#ofView }))) {
      const [kind, id, n] = key as [string, string, number]
      this.#read(`message ${n} of ${kind} ${id}`, () => JSON.parse(outbox.get(key, this.#ofView)!))
      if (this.#floor === 1 && this.#view.snapshots.get([kind, id], this.#ofView) === undefined) {
        this.#find('message_of_nothing', `${kind} ${id}`, `message ${n}`)
      }
    }
    this.#read(`note of ${NOTE}`, () => this.#view.marker.get(NOTE, this.#ofView))
    for await (const key of paced(reservations.getKeys({ ...this.#ofView }))) {
      this.#read(`kept key ${key.join(' ')}`, () => reservations.get(key, this.#ofView))
    }
  }

  #read<V>(where: string, get: () => V | undefined): V | undefined {
    try {
      return get()
    } catch (error) {
      if (isShortage(error)) throw error
      this.#find(error instanceof CorruptRow ? 'checksum' : 'unreadable', where, (error as Error).message)
      return undefined
    }
  }
}

const timerOf = (kind: string, id: string, name: string): string => `timer ${name} of ${kind} ${id}`
const idKeyOf = ({ project, traceId, id }: EventIdentity): Key => eventIdKey(project, traceId, id)
