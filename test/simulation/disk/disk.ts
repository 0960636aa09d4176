/**
 * The simulated disk of one home: it outlives every process that opens it. Between any two of its phases the process
 * may be killed, the power may fail, or the operation itself may fail; space may run out; a disk that lies about a
 * flush may leave the last write torn.
 */
import {
  type Copy,
  type Environments,
  HEAD_LAST,
  LAST_PART,
  type LogTables,
  type Medium,
  pausesOf,
  VIEW_TABLES,
  type ViewTables,
} from '../../../storage/environments.ts'
import { HomeRefused } from '../../../storage/home/home-refused.ts'
import { RowForgetter } from '../../../storage/retention/forgetter.ts'
import { View } from '../../../storage/view/view.ts'
import type { Timeline } from '../timeline.ts'
import { type Change, SimulatedEnvironment } from './environment.ts'
import type { AnyKey } from './rows.ts'

const LOG_TABLES = ['events', 'redo', 'head'] as const

/** Where in an operation something may go wrong, in the order of the operation. */
export type Phase =
  | 'open'
  | 'log synced'
  | 'log begins'
  | 'log written'
  | 'log flushed'
  | 'view begins'
  | 'view written'
  | 'view flushed'

/**
 * What goes wrong there. `kill`: the process ends, and what it has written stays with the operating system. `power`:
 * what is not flushed is gone too. `fail`: the operation reports an error. `full`: it reports that there is no space.
 */
export type Deed = 'go on' | 'kill' | 'power' | 'fail' | 'full'

/** The process that has the disk open, as far as the disk can tell. */
export interface Opener {
  readonly isAlive: boolean
  /** The process is gone, and its computer with it if the power failed. */
  die(by: 'kill' | 'power'): void
}

export interface DiskWorld {
  readonly timeline: Timeline
  /** Asked at each phase. */
  deedAt(phase: Phase): Deed
  /** How long a commit of the view takes until it is flushed, and from there until its process knows. Milliseconds. */
  viewWriteMs(): number
  viewNewsMs(): number
  chance(probability: number): boolean
  /** Rows of the log that a power failure can no longer take. */
  onFlushed(changes: readonly Change[]): void
}

const PLENTY_BYTES = 1e12
const GONE = 'the process is gone'

/** A write of the view, waiting for its transaction. */
interface Write {
  readonly table: string
  readonly key: AnyKey
  readonly value: string | undefined
}

export class SimulatedDisk {
  freeBytes = PLENTY_BYTES
  private readonly world: DiskWorld
  private log: SimulatedEnvironment
  private view: SimulatedEnvironment
  private opener: Opener | undefined
  private wasOpened = false
  /** Changes of the newest transaction of the log: what a lying disk may have torn. */
  private newest: readonly Change[] = []
  /** Collects what is put while a commit of the view is being recorded. */
  private queue: Write[] | undefined
  readonly copies = new Map<string, { readonly log: SimulatedEnvironment; readonly view: SimulatedEnvironment }>()

  constructor(world: DiskWorld) {
    this.world = world
    this.log = new SimulatedEnvironment(LOG_TABLES)
    this.view = new SimulatedEnvironment(Object.values(VIEW_TABLES))
  }

  /** Leaves this much free space, by default plenty. */
  fill(freeBytes = PLENTY_BYTES): void {
    this.freeBytes = freeBytes
  }

  /** Drops what a dying process does not leave behind. */
  abandon(by: 'kill' | 'power'): void {
    this.log.abandon(by)
    this.view.abandon(by)
    this.opener = undefined
  }

  /** Tears some rows of the newest transaction of the log, if it is still there. */
  tearNewest(pick: (changes: readonly Change[]) => readonly Change[]): boolean {
    const rows = this.newest.filter(
      ({ table, name, after }) => after !== undefined && this.log.rows(table).find(name) === after,
    )
    const torn = pick(rows)
    for (const { table, name } of torn) this.log.tear(table, name)
    return torn.length > 0
  }

  /** Corrupts the bytes of one event's row: a fault that shows only when somebody reads it. */
  rot(sequence: number): void {
    const [row] = this.log.rows('events').range({ start: sequence, reverse: true, limit: 1 })
    this.log.tear('events', `n${String(row!.key).padStart(16, '0')}`)
  }

  /** Puts the copy of that name in the place of what is kept, as a restore does. */
  restore(name: string): void {
    const { log, view } = this.copies.get(name)!
    this.log = log.copy()
    this.view = view.copy()
  }

  /** Text of the log's head as the next process would find it. */
  get head(): string | undefined {
    return this.log.rows('head').find(`s${HEAD_LAST}`)?.value
  }

  /** The events from this sequence on, as the next process would find them. */
  events(from: number): readonly { readonly sequence: number; readonly text: string }[] {
    const [holding] = this.log.rows('events').range({ start: from, reverse: true, limit: 1 })
    return this.log
      .rows('events')
      .range({ start: holding?.key ?? from })
      .flatMap(({ key, value }) => value.split('\n').map((text, i) => ({ sequence: (key as number) + i, text })))
      .filter(({ sequence }) => sequence >= from)
  }

  /** Values of a scope's reservations as the next process would find them in the view. */
  reserved(scope: string): readonly string[] {
    const rows = this.view.rows(VIEW_TABLES.reservations).range({ start: [scope], end: [scope, LAST_PART] })
    return rows.map(({ value }) => value)
  }

  medium(home: string, opener: Opener): Medium {
    const disk = this
    return {
      home,
      get isNew() {
        return !disk.wasOpened
      },
      freeBytes: async () => disk.freeBytes,
      lock: async () => {
        if (disk.opener?.isAlive === true) throw new HomeRefused('locked', `${home} is in use`)
        disk.opener = opener
        return {
          release: async () => {
            if (disk.opener === opener) disk.opener = undefined
          },
        }
      },
      assertWhole: async () => {},
      open: async (check) => {
        disk.wasOpened = true
        const log = disk.openLog(opener)
        check(log.head)
        if (!disk.carryOut(disk.world.deedAt('open'), opener)) throw new Error(GONE)
        return disk.open(opener, log)
      },
    }
  }

  private open(opener: Opener, log: LogTables): Environments {
    const view = this.openView(opener)
    return {
      log,
      view,
      forgetter: new RowForgetter(log, new View(view)),
      copyTo: (name) => this.copyTo(name),
      close: async () => {},
    }
  }

  private openLog(opener: Opener): LogTables {
    const { log } = this
    const put = (table: string) => (key: AnyKey, value: string | undefined) =>
      log.write(table, key, value, this.world.timeline.nowMs)
    return {
      env: {
        transactionSync: (write) => this.writeLog(opener, write),
        sync: () => this.syncLog(opener),
        refresh: () => {},
        useReadTransaction: () => log.readTransaction(),
        close: async () => {},
      },
      events: log.appended('events', put('events')),
      redo: log.appended('redo', put('redo')),
      head: log.table<string>('head', put('head')),
    }
  }

  private openView(opener: Opener): ViewTables {
    const { view } = this
    const table = <K extends AnyKey>(name: string) =>
      view.table<K>(name, (key, value) => this.queue!.push({ table: name, key, value }))
    return {
      env: {
        commit: (write) => this.commitView(opener, write),
        useReadTransaction: () => view.readTransaction(),
        close: async () => {},
      },
      snapshots: table(VIEW_TABLES.snapshots),
      entities: table(VIEW_TABLES.entities),
      counts: table(VIEW_TABLES.counts),
      eventIds: table(VIEW_TABLES.eventIds),
      histories: table(VIEW_TABLES.histories),
      timers: table(VIEW_TABLES.timers),
      outbox: table(VIEW_TABLES.outbox),
      reservations: table(VIEW_TABLES.reservations),
      marker: table(VIEW_TABLES.marker),
    }
  }

  private writeLog(opener: Opener, write: () => void): void {
    const { log } = this
    if (!opener.isAlive) throw new Error(GONE)
    log.beginWrite()
    try {
      write()
    } catch (error) {
      log.abortWrite()
      throw error
    }
    if (!this.isWritten(opener, log, 'log')) throw new Error(GONE)
    this.newest = log.flush()
    this.world.onFlushed(this.newest)
    this.carryOut(this.world.deedAt('log flushed'), opener)
  }

  private syncLog(opener: Opener): void {
    if (!opener.isAlive || !this.carryOut(this.world.deedAt('log synced'), opener)) throw new Error(GONE)
    this.world.onFlushed(this.log.flush())
  }

  private async commitView(opener: Opener, write: Parameters<ViewTables['env']['commit']>[0]): Promise<void> {
    const queue: Write[] = []
    this.queue = queue
    try {
      for (const _ of pausesOf(write));
    } finally {
      this.queue = undefined
    }
    return new Promise((resolve, reject) => {
      this.world.timeline.in(this.world.viewWriteMs(), () => {
        if (!opener.isAlive) return
        try {
          if (!this.writeView(opener, queue)) return
        } catch (error) {
          reject(error)
          return
        }
        this.world.timeline.in(this.world.viewNewsMs(), () => {
          if (opener.isAlive) resolve()
        })
      })
    })
  }

  private writeView(opener: Opener, queue: readonly Write[]): boolean {
    const { view } = this
    view.beginWrite()
    for (const { table, key, value } of queue) view.write(table, key, value, this.world.timeline.nowMs)
    if (!this.isWritten(opener, view, 'view')) return false
    view.flush()
    return this.carryOut(this.world.deedAt('view flushed'), opener)
  }

  /**
   * Takes the transaction to the disk, up to its flush. False: the process is gone. Throws what the operation throws.
   * The next process may find what this one had written when it ended; this one no longer sees it.
   */
  private isWritten(opener: Opener, environment: SimulatedEnvironment, which: 'log' | 'view'): boolean {
    const first = this.world.deedAt(`${which} begins`)
    if (first !== 'go on') {
      environment.abortWrite()
      return this.carryOut(first, opener)
    }
    const second = this.world.deedAt(`${which} written`)
    if (second === 'go on') {
      environment.endWrite()
      return true
    }
    environment.abortWrite(this.world.chance(0.5))
    return this.carryOut(second, opener)
  }

  /** False: the process is gone. Throws what the operation throws. */
  private carryOut(deed: Deed, opener: Opener): boolean {
    if (deed === 'fail') throw new Error('EIO: i/o error')
    if (deed === 'full') throw new Error('ENOSPC: no space left on device')
    if (deed === 'go on') return true
    opener.die(deed)
    return false
  }

  private copyTo(name: string): Copy {
    if (this.copies.has(name)) throw new HomeRefused('not_empty', `${name} is not empty`)
    let view: SimulatedEnvironment | undefined
    let log: SimulatedEnvironment | undefined
    const later = () => this.world.timeline.pass(this.world.viewWriteMs())
    return {
      bytesNeeded: 0,
      freeBytes: async () => this.freeBytes,
      view: () => {
        view = this.view.copy()
        return later()
      },
      log: () => {
        log = this.log.copy()
        return later()
      },
      faults: async () => [],
      grownBytes: () => 0,
      giveUp: () => {},
      keep: () => {
        this.copies.set(name, { log: log!, view: view! })
        return 1
      },
      discard: () => {},
    }
  }
}
