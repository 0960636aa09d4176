/**
 * Holds the log and the view against each other, row by row and both ways, and reports; it repairs nothing and never
 * throws. It reads one snapshot of each environment, the view's first, and lets the event loop run in between, so
 * that it works beside a running service.
 */

import type { Term } from '../machines/machine.ts'
import { CorruptRow } from './checked-text.ts'
import {
  type Environments,
  HEAD_EPOCH,
  HEAD_FLOOR,
  HEAD_LAST,
  type Key,
  LAST_PART,
  MARKER,
  type Marker,
  openEnvironments,
} from './environments.ts'
import { assertSchema } from './event-log.ts'
import { unpackChunk } from './history-chunk.ts'
import { identityOf } from './identity.ts'
import { keyPart } from './keys.ts'

export interface Finding {
  readonly code: string
  /** The row that is wrong: `event 17`, `run_request runreq_...`. */
  readonly where: string
  readonly detail: string
}

/** What storage does not know by itself. */
export interface VerifyHooks {
  /** The id that the event's own content gives; undefined where another engine chose it. */
  eventId?(text: string): string | undefined
  /** The terms that a record is listed under. Throws when the record cannot be read. */
  terms?(kind: string, id: string, record: string): readonly Term[]
}

export interface VerifyReport {
  readonly findings: readonly Finding[]
  /** Findings beyond the first 1,000 are only counted. */
  readonly findingsCount: number
  readonly events: number
  readonly entities: number
}

const FINDINGS_MAX = 1_000
const ROWS_A_TURN = 1_000

/** Verifies a home from another process, or one that is not in service. Never throws. */
export async function verifyHome(home: string, hooks: VerifyHooks = {}): Promise<VerifyReport> {
  try {
    const environments = await openEnvironments(home, (head) => assertSchema(head, home), true)
    try {
      return await verify(environments, hooks)
    } finally {
      await environments.close()
    }
  } catch (error) {
    const finding = { code: 'unreadable', where: home, detail: (error as Error).message }
    return { findings: [finding], findingsCount: 1, events: 0, entities: 0 }
  }
}

/** Verifies the environments of an open journal. Never throws. */
export async function verify(environments: Environments, hooks: VerifyHooks = {}): Promise<VerifyReport> {
  const run = new Verification(environments, hooks)
  return run.all()
}

class Verification {
  readonly #log: Environments['log']
  readonly #view: Environments['view']
  readonly #hooks: VerifyHooks
  /** Never given to a range as they are: lmdb-js writes into the options of a range. */
  readonly #ofView: { transaction: any }
  readonly #ofLog: { transaction: any }
  readonly #findings: Finding[] = []
  #findingsCount = 0
  #events = 0
  #entities = 0
  #floor = 1
  #marker: Marker = { epoch: '', batch: 0, sequence: 0 }

  constructor(environments: Environments, hooks: VerifyHooks) {
    this.#log = environments.log
    this.#view = environments.view
    this.#hooks = hooks
    this.#ofView = { transaction: environments.view.env.useReadTransaction() }
    this.#ofLog = { transaction: environments.log.env.useReadTransaction() }
  }

  async all(): Promise<VerifyReport> {
    try {
      this.#heads()
      await this.#eventRows()
      await this.#eventIds()
      await this.#histories()
      await this.#snapshots()
      await this.#entityRows()
      await this.#owners()
    } catch (error) {
      this.#find('unreadable', 'storage', (error as Error).message)
    } finally {
      this.#ofView.transaction.done()
      this.#ofLog.transaction.done()
    }
    return {
      findings: this.#findings,
      findingsCount: this.#findingsCount,
      events: this.#events,
      entities: this.#entities,
    }
  }

  #find(code: string, where: string, detail: string): void {
    this.#findingsCount += 1
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push({ code, where, detail })
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
    for (let batch = this.#marker.batch + 1; batch <= lastBatch; batch += 1) {
      const row = this.#read(`redo of batch ${batch}`, () => redo.get(batch, this.#ofLog))
      if (row === undefined) this.#find('redo_missing', `redo of batch ${batch}`, 'the view cannot be carried on')
      else if (JSON.parse(row).b !== batch) this.#find('redo_wrong', `redo of batch ${batch}`, 'holds another batch')
    }
    const found = this.#log.events.getKeysCount({ ...this.#ofLog, start: this.#floor })
    if (found !== lastSequence - this.#floor + 1) {
      this.#find('hole', 'events', `${found} events from ${this.#floor} to ${lastSequence}`)
    }
    for (const key of this.#log.events.getKeys({ ...this.#ofLog, end: this.#floor, limit: 1 })) {
      this.#find('below_floor', `event ${key}`, `the floor is ${this.#floor}`)
    }
  }

  async #eventRows(): Promise<void> {
    let expected = this.#floor
    for await (const sequence of paced(this.#log.events.getKeys({ ...this.#ofLog, start: this.#floor }))) {
      this.#events += 1
      if (sequence !== expected) this.#find('hole', `event ${expected}`, `the next one is ${sequence}`)
      expected = sequence + 1
      const where = `event ${sequence}`
      const text = this.#read(where, () => this.#log.events.get(sequence, this.#ofLog))
      if (text === undefined) continue
      try {
        this.#event(sequence, text, where)
      } catch (error) {
        this.#find('unreadable', where, (error as Error).message)
      }
    }
  }

  #event(sequence: number, text: string, where: string): void {
    const identity = identityOf(text)
    const computed = this.#hooks.eventId?.(text)
    if (computed !== undefined && computed !== identity.id)
      this.#find('wrong_id', where, `${identity.id} is not ${computed}`)
    if (sequence > this.#marker.sequence) return
    const key: Key = [keyPart(identity.project), keyPart(identity.traceId ?? ''), keyPart(identity.id)]
    const indexed = this.#view.eventIds.get(key, this.#ofView)
    if (indexed === undefined) this.#find('not_indexed', where, 'its id is not in the index')
    else if (Number(indexed) !== sequence) this.#find('recorded_twice', where, `the index says ${indexed}`)
    if (identity.traceId !== null && !this.#inHistory(identity.traceId, sequence)) {
      this.#find('not_in_history', where, `missing in the history of trace ${identity.traceId}`)
    }
  }

  #inHistory(traceId: string, sequence: number): boolean {
    const prefix: Key = ['trace', keyPart(traceId)]
    const range = { ...this.#ofView, start: [...prefix, sequence], end: prefix, reverse: true, limit: 1 }
    for (const { key, value } of this.#view.histories.getRange(range)) {
      return unpackChunk(key[2] as number, value).includes(sequence)
    }
    return false
  }

  async #eventIds(): Promise<void> {
    for await (const { key, value } of paced(this.#view.eventIds.getRange({ ...this.#ofView }))) {
      const sequence = Number(value)
      const where = `event id ${key.join(' ')}`
      const text = this.#read(`event ${sequence}`, () => this.#log.events.get(sequence, this.#ofLog))
      if (text === undefined) {
        this.#find('index_of_nothing', where, `there is no event ${sequence}`)
        continue
      }
      const { id, project, traceId } = identityOf(text)
      const same = key[0] === keyPart(project) && key[1] === keyPart(traceId ?? '') && key[2] === keyPart(id)
      if (!same) this.#find('index_wrong', where, `event ${sequence} is ${id}`)
    }
  }

  async #histories(): Promise<void> {
    for await (const { key, value } of paced(this.#view.histories.getRange({ ...this.#ofView }))) {
      const [of, id, first] = key as [string, string, number]
      const sequences = unpackChunk(first, value)
      const where = `history of ${of} ${id}`
      if (sequences.some((sequence, i) => i > 0 && !(sequence > sequences[i - 1]!))) {
        this.#find('history_disordered', where, `row ${first}`)
      }
      for (const sequence of sequences) {
        if (sequence < this.#floor || of !== 'trace') continue
        const text = this.#read(`event ${sequence}`, () => this.#log.events.get(sequence, this.#ofLog))
        if (text === undefined || keyPart(identityOf(text).traceId ?? '') !== id) {
          this.#find('history_wrong', where, `event ${sequence} is not of it`)
        }
      }
    }
  }

  async #snapshots(): Promise<void> {
    for await (const { key, value } of paced(this.#view.snapshots.getRange({ ...this.#ofView }))) {
      this.#entities += 1
      const [kind, id] = key as [string, string]
      const where = `${kind} ${id}`
      let terms: readonly Term[]
      try {
        JSON.parse(value)
        terms = this.#hooks.terms?.(kind, id, value) ?? []
      } catch (error) {
        this.#find('record_unreadable', where, (error as Error).message)
        continue
      }
      for (const { index, value: of, order } of terms) {
        const listed = this.#view.entities.doesExist(
          [kind, index, keyPart(of), order, id],
          undefined as never,
          this.#ofView,
        )
        if (!listed) this.#find('not_listed', where, `missing under ${index} ${of}`)
      }
    }
  }

  /** Every list row stands for a record that says so, and every count for its rows. */
  async #entityRows(): Promise<void> {
    let prefix: Key | undefined
    let rows = 0
    const closeCount = () => {
      if (prefix === undefined) return
      const count = Number(this.#view.counts.get(prefix, this.#ofView) ?? 0)
      if (count !== rows) this.#find('count_wrong', prefix.join(' '), `${count} counted, ${rows} listed`)
    }
    for await (const key of paced(this.#view.entities.getKeys({ ...this.#ofView }))) {
      const [kind, index, value, order, id] = key as [string, string, string, string, string]
      if (prefix === undefined || prefix[0] !== kind || prefix[1] !== index || prefix[2] !== value) {
        closeCount()
        prefix = [kind, index, value]
        rows = 0
      }
      rows += 1
      const record = this.#view.snapshots.get([kind, id], this.#ofView)
      if (record === undefined) this.#find('list_of_nothing', `${kind} ${id}`, `listed under ${index} ${value}`)
      else if (!this.#saysSo(kind, id, record, index, value, order)) {
        this.#find('list_wrong', `${kind} ${id}`, `listed under ${index} ${value}, which its record does not say`)
      }
    }
    closeCount()
    for await (const { key, value } of paced(this.#view.counts.getRange({ ...this.#ofView }))) {
      const listed = this.#view.entities.getKeysCount({
        ...this.#ofView,
        start: key,
        end: [...key, LAST_PART],
        limit: 1,
      })
      if (listed === 0) this.#find('count_wrong', key.join(' '), `${value} counted, 0 listed`)
    }
  }

  #saysSo(kind: string, id: string, record: string, index: string, value: string, order: string): boolean {
    if (this.#hooks.terms === undefined) return true
    try {
      const terms = this.#hooks.terms(kind, id, record)
      return terms.some((term) => term.index === index && keyPart(term.value) === value && term.order === order)
    } catch {
      return true // reported by #snapshots
    }
  }

  /** Timers belong to entities that live, and messages come from such. */
  async #owners(): Promise<void> {
    for await (const key of paced(this.#view.timers.getKeys({ ...this.#ofView }))) {
      const [, kind, id, name] = key as [number, string, string, string]
      if (this.#view.snapshots.get([kind, id], this.#ofView) === undefined) {
        this.#find('timer_of_nothing', `${kind} ${id}`, `timer ${name}`)
      }
    }
    for await (const key of paced(this.#view.outbox.getKeys({ ...this.#ofView }))) {
      const [kind, id, n] = key as [string, string, number]
      if (this.#view.snapshots.get([kind, id], this.#ofView) === undefined) {
        this.#find('message_of_nothing', `${kind} ${id}`, `message ${n}`)
      }
    }
  }

  #read(where: string, get: () => string | undefined): string | undefined {
    try {
      return get()
    } catch (error) {
      this.#find(error instanceof CorruptRow ? 'checksum' : 'unreadable', where, (error as Error).message)
      return undefined
    }
  }
}

/** The same rows, with a turn of the event loop now and then. */
async function* paced<R>(rows: Iterable<R>): AsyncGenerator<R> {
  let count = 0
  for (const row of rows) {
    yield row
    count += 1
    if (count % ROWS_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
