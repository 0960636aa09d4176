/**
 * Holds the lists of the view against what the records say of themselves, for `verify`: each is read once, and only
 * where they do not agree row by row. Lists that another version of a machine made are for the next start to bring up.
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
  /** Never given to a range as it is: lmdb-js writes into the options of a range. */
  readonly reading: { readonly transaction: ReadTransaction }
}

export class ListCheck {
  readonly #view: ViewTables
  readonly #hooks: VerifyHooks
  readonly #findings: Findings
  readonly #reading: { readonly transaction: ReadTransaction }
  /** By which versions of the machines the lists were made. */
  #versions: Readonly<Record<string, number>> | undefined
  readonly #wanted = new Fingerprint()
  readonly #found = new Fingerprint()

  constructor({ view, hooks, findings, reading }: ListsOf) {
    this.#view = view
    this.#hooks = hooks
    this.#findings = findings
    this.#reading = reading
  }

  /** A record. Throws when it cannot be read. */
  record(kind: string, id: string, record: string): void {
    for (const term of this.#terms(kind, id, record) ?? []) this.#wanted.add(termKey(kind, term, id).join('\n'))
  }

  /** The rows, after the last record: against the counts and, where they do not agree with the records, one by one. */
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

  /** Counts of lists without rows. */
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

  /** Undefined: not to be known, or reported when the record was given. */
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
