/**
 * Compares the view's lists with the terms that follow from the records, for `verify`: in one pass, and row by row
 * only if they disagree. Lists made by another version of a machine are skipped; the next start rebuilds them.
 */
import type { Term } from '../../machines/machine.ts'
import { type Key, LAST_PART, type ReadTransaction, type ViewTables } from '../environments.ts'
import { paced } from '../paced.ts'
import { Indexes } from '../view/indexes.ts'
import { keyPart } from '../view/keys.ts'
import { termKey } from '../view/view.ts'
import type { Findings, VerifyHooks } from './findings.ts'
import { Fingerprint } from './fingerprint.ts'

interface ListsOf {
  readonly view: ViewTables
  readonly hooks: VerifyHooks
  readonly findings: Findings
  /** Copied into the options of a range, never passed as they are: lmdb-js writes into those. */
  readonly reading: { readonly transaction: ReadTransaction }
}

export class ListCheck {
  readonly #view: ViewTables
  readonly #hooks: VerifyHooks
  readonly #findings: Findings
  readonly #reading: { readonly transaction: ReadTransaction }
  /** The machine versions that made the lists. */
  #versions: Readonly<Record<string, number>> | undefined
  readonly #wanted = new Fingerprint()
  readonly #found = new Fingerprint()

  constructor({ view, hooks, findings, reading }: ListsOf) {
    this.#view = view
    this.#hooks = hooks
    this.#findings = findings
    this.#reading = reading
  }

  /** Takes a record. Throws if it cannot be read. */
  record(kind: string, id: string, record: string): void {
    for (const term of this.#terms(kind, id, record) ?? []) this.#wanted.add(termKey(kind, term, id).join('\n'))
  }

  /**
   * Call after the last record. Checks the rows against the counts and, if they disagree with the records, one by one.
   */
  async rows(): Promise<void> {
    let prefix: Key | undefined
    let rows = 0
    const closeCount = () => {
      if (prefix === undefined) return
      const count = Number(this.#view.counts.get(prefix, this.#reading) ?? 0)
      if (count !== rows) this.#findings.add('count_wrong', prefix.join(' '), `${count} counted, ${rows} listed`)
    }
    for await (const key of paced(this.#view.entities.getKeys({ ...this.#reading }))) {
      const [kind, index, value] = key as [string, string, string]
      if (prefix === undefined || prefix[0] !== kind || prefix[1] !== index || prefix[2] !== value) {
        closeCount()
        prefix = [kind, index, value]
        rows = 0
      }
      rows += 1
      this.#found.add(key.join('\n'))
    }
    closeCount()
    if (this.#hooks.terms === undefined || !this.#found.equals(this.#wanted)) await this.#disagreeing()
  }

  async #disagreeing(): Promise<void> {
    const { snapshots, entities } = this.#view
    for await (const { key, value } of paced(snapshots.getRange({ ...this.#reading }))) {
      const [kind, id] = key as [string, string]
      for (const term of this.#termsIfAny(kind, id, value) ?? []) {
        if (entities.doesExist(termKey(kind, term, id), undefined, this.#reading)) continue
        this.#findings.add('not_listed', `${kind} ${id}`, `missing under ${term.index} ${term.value}`)
      }
    }
    for await (const key of paced(entities.getKeys({ ...this.#reading }))) {
      const [kind, index, value, , id] = key as [string, string, string, string, string]
      const record = snapshots.get([kind, id], this.#reading)
      const where = `${kind} ${id}`
      if (record === undefined) this.#findings.add('list_of_nothing', where, `listed under ${index} ${value}`)
      else if (!this.#saysSo(record, key as [string, string, string, string, string])) {
        this.#findings.add('list_wrong', where, `listed under ${index} ${value}, which its record does not say`)
      }
    }
  }

  /** Reports counts of lists that have no rows. */
  async counts(): Promise<void> {
    for await (const { key, value } of paced(this.#view.counts.getRange({ ...this.#reading }))) {
      const rows = { ...this.#reading, start: key, end: [...key, LAST_PART], limit: 1 }
      if (this.#view.entities.getKeysCount(rows) > 0) continue
      this.#findings.add('count_wrong', key.join(' '), `${value} counted, 0 listed`)
    }
  }

  #terms(kind: string, id: string, record: string): readonly Term[] | undefined {
    const { machineVersion, terms } = this.#hooks
    this.#versions ??= new Indexes(this.#view).versions(this.#reading)
    const isOfThisVersion = machineVersion === undefined || machineVersion(kind) === this.#versions[kind]
    return isOfThisVersion ? terms?.(kind, id, record) : undefined
  }

  /** Undefined if unknown, or if the record is unreadable, which has been reported already. */
  #termsIfAny(kind: string, id: string, record: string): readonly Term[] | undefined {
    try {
      return this.#terms(kind, id, record)
    } catch {
      return undefined
    }
  }

  #saysSo(record: string, [kind, index, value, order, id]: [string, string, string, string, string]): boolean {
    const terms = this.#termsIfAny(kind, id, record)
    if (terms === undefined) return true
    return terms.some((term) => term.index === index && keyPart(term.value) === value && term.order === order)
  }
}
