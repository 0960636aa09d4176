/**
 * Follows the log, from its end or from a place in the past, through storms, pauses, slow connections and restarts of
 * the service. Whatever reaches it is compared with the log, text by text.
 */
import type { LoggedEvent } from '../model/mirror.ts'
import { Violation } from '../violation.ts'
import type { SocketConnection } from '../wire.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

const INVARIANT = 'watch in order, without gap or repeat'
/** A slow connection takes this many frames before it is full. */
const FRAMES_BUFFERED = 3

export function watchers(world: World): readonly Actor[] {
  const { made, plan } = world
  const first = made.projects[0]!.key
  const kinds = [
    { query: '', token: world.adminToken, lets: () => true },
    { query: `project=${first}`, token: world.adminToken, lets: ({ project }: LoggedEvent) => project === first },
    {
      query: 'event_type=run_request_created,run_request_completed,run_request_failed',
      token: world.adminToken,
      lets: ({ type }: LoggedEvent) => /^run_request_(created|completed|failed)$/.test(type),
    },
    {
      query: '',
      token: made.confinedToken,
      lets: ({ project, type }: LoggedEvent) =>
        project === first || (project === 'system' && type.startsWith('pacing_') && type !== 'pacing_project_weighed'),
    },
  ]
  return Array.from({ length: plan.watchers }, (_, i) => {
    const { query, token, lets } = i === 0 ? kinds[0]! : world.random.pick(kinds)
    const watcher = new Watcher(world, `watcher-${i + 1}`, token, query, lets)
    world.watchers.push(watcher)
    return watcher
  })
}

export class Watcher extends Client {
  private readonly query: string
  private readonly lets: (event: LoggedEvent) => boolean
  /** Everything up to here was seen or does not match; undefined before the first connection. */
  place: number | undefined
  private cursor: string | undefined
  private connection: SocketConnection | undefined
  private ended: (() => void) | undefined
  private taken = 0
  private isFull = false
  /** Since when it is connected and takes frames, virtual; undefined: it does not. */
  listensSinceMs: number | undefined

  constructor(world: World, name: string, token: string, query: string, lets: (event: LoggedEvent) => boolean) {
    super(world, name, token)
    this.query = query
    this.lets = lets
  }

  async live(): Promise<void> {
    for (;;) {
      await this.pass(10, this.world.isStormy ? this.pauseMsMax : 500)
      await this.watches()
    }
  }

  /** Whether it has seen everything there is to see. */
  get isCaughtUp(): boolean {
    return this.place !== undefined && this.nextUnseen === undefined
  }

  /** The oldest event that it has yet to see. */
  get nextUnseen(): LoggedEvent | undefined {
    const { mirror } = this.world
    for (let n = (this.place ?? 0) + 1; n <= mirror.lastSequence; n++) if (this.lets(mirror.at(n)!)) return mirror.at(n)
    return undefined
  }

  /** With retention, some stay away, or take nothing, until their place is removed. */
  private get pauseMsMax(): number {
    return this.world.plan.isRetaining ? 60_000 : 8_000
  }

  private async watches(): Promise<void> {
    const since = this.cursor ?? this.random.pick(['earliest', 'latest'])
    const query = [this.query, `since=${since}`].filter((part) => part !== '').join('&')
    let isOver = false
    const over = new Promise<void>((resolve) => {
      this.ended = () => {
        isOver = true
        this.connection = undefined
        this.listensSinceMs = undefined
        resolve()
      }
    })
    this.isFull = false
    this.taken = 0
    const call = { by: this.name, token: this.token, method: 'GET', pattern: '/api/watch', query } as const
    const client = {
      receive: (bytes: Uint8Array) => isOver || this.receives(bytes),
      closed: (code: number | undefined) => {
        this.world.history.note(this.name, () => `is closed: ${code}`)
        this.ended!()
      },
    }
    this.connection = this.world.network.connect(call, client, ({ status, body }) => {
      this.world.history.note(this.name, () => `may not watch: ${status}`)
      if (status === 410) this.isTooOld(body)
    })
    if (this.connection === undefined) return
    const { connection } = this
    if (!this.isFull && !isOver) this.listensSinceMs = this.world.timeline.nowMs
    this.world.history.note(this.name, () => `watches ${query}`)
    this.world.process!.whenGone(() => this.ended!())
    if (this.world.isStormy) {
      this.world.timeline.in(this.random.skewed(500, 90_000), () => {
        if (isOver || !this.world.isStormy) return
        connection.close()
        this.ended!()
      })
    }
    await over
  }

  /** Takes a frame. Returns whether the connection takes more. */
  private receives(bytes: Uint8Array): boolean {
    try {
      this.reads(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
    } catch (error) {
      this.world.timeline.fail(error)
    }
    this.taken++
    if (!this.world.isStormy || this.taken < FRAMES_BUFFERED || this.random.chance(0.8)) return true
    this.isFull = true
    this.listensSinceMs = undefined
    const { connection } = this
    this.world.timeline.in(this.random.skewed(5, this.pauseMsMax), () => {
      if (connection === undefined || connection !== this.connection) return
      this.isFull = false
      this.listensSinceMs = this.world.timeline.nowMs
      connection.drain()
    })
    return false
  }

  private reads(text: string): void {
    if (this.isFull) throw new Violation(INVARIANT, `${this.name} was sent a frame while its connection was full`)
    this.world.history.note(this.name, () => text)
    const head = /^\{"type":"(\w+)","cursor":"([0-9a-z]+\.([0-9a-z]+)(?:\.[0-9a-z]+)?)"/.exec(text)
    if (head === null) {
      const { problem } = JSON.parse(text)
      if (problem?.code === 'cursor_too_old') this.isTooOld(problem)
      else if (problem?.code !== 'stopping') throw new Violation(INVARIANT, `${this.name} was sent ${text}`)
      return
    }
    const [, type, cursor, digits] = head
    const place = Number.parseInt(digits!, 36)
    const { mirror } = this.world
    if (place > mirror.lastSequence) {
      throw new Violation(INVARIANT, `${this.name} was told of ${place}; the disk holds ${mirror.lastSequence}`)
    }
    if (type === 'hello') this.begins(place)
    else {
      const missed = this.matching(this.place!, place)
      if (type === 'bookmark' && missed.length > 0) {
        throw new Violation(INVARIANT, `${this.name} has not seen ${missed[0]!.sequence}, before the bookmark ${place}`)
      }
      const expected = `${head[0]},"events":[${missed.map((event) => event.text).join(',')}]}`
      if (type === 'events' && text !== expected) {
        throw new Violation(INVARIANT, `${this.name} at ${this.place} expected ${expected}, and got ${text}`)
      }
    }
    this.place = place
    this.cursor = cursor!
  }

  private begins(place: number): void {
    if (this.place !== undefined && place !== this.place) {
      throw new Violation(INVARIANT, `${this.name} resumed at ${this.place}, and was told ${place}`)
    }
  }

  private matching(after: number, through: number): LoggedEvent[] {
    if (through < after) throw new Violation(INVARIANT, `${this.name} at ${after} was sent back to ${through}`)
    const events: LoggedEvent[] = []
    for (let n = after + 1; n <= through; n++) {
      const event = this.world.mirror.at(n)!
      if (this.lets(event)) events.push(event)
    }
    return events
  }

  /** Only a place that retention has removed may be too old; it starts over. */
  private isTooOld(problem: { code: string }): void {
    const oldest = this.world.process?.journal?.oldestSequence ?? 1
    if (problem.code !== 'cursor_too_old' || this.place === undefined || this.place + 1 >= oldest) {
      throw new Violation(INVARIANT, `${this.name} at ${this.place} was refused: ${JSON.stringify(problem)}`)
    }
    this.place = undefined
    this.cursor = undefined
  }
}
