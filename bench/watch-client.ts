/**
 * The load on Watch: a thousand subscribers and the client that posts, in a process of its own. The same code reads
 * from the bare loop and from the service.
 */
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { answerRequests } from './child.ts'
import { eventsRequest, renumber } from './load-scripts.ts'
import { Subscriber } from './watch-socket.ts'
import { Connection, formatRequest, type Target } from './wire.ts'

export interface FanOutJob {
  readonly target: Target
  readonly token: string
  /** Watch paths, assigned to the subscribers in turn. Each must match every posted event. */
  readonly paths: readonly string[]
  readonly subscribers: number
  /** Adds one subscriber that never reads. */
  readonly deaf: boolean
  readonly perPost: number
  readonly posts: number
  /** Where to post: events of a run to the service, or ready frames to the bare loop. */
  readonly post:
    | { readonly kind: 'run'; readonly run: { readonly id: string; readonly token: string }; readonly serial: number }
    | { readonly kind: 'frame'; readonly length: number }
}

export interface HoldJob {
  readonly target: Target
  readonly token: string
  readonly count: number
}

export interface FanOutResult {
  readonly deliveriesPerSecond: number
  readonly eventsPerFrame: number
  /** Length of the served text of one event; 0 for the bare loop. */
  readonly eventLength: number
  readonly clientCpu: number
}

export interface ReplayJob {
  readonly target: Target
  readonly token: string
  readonly path: string
  readonly events: number
}

export interface ReplayResult {
  readonly eventsPerSecond: number
  readonly events: number
  readonly bytes: number
  readonly clientCpu: number
}

/** Frames posted but not yet delivered to all: enough to keep the server busy, too few to make it park anyone. */
const FRAMES_IN_FLIGHT = 3
/** Length of a frame besides its events: at least this, and less than this plus one event. */
const FRAME_OVERHEAD = 30

/** Exact for any number of events, since the overhead is at least the constant and less than one event more. */
function eventsIn(length: number, eventLength: number): number {
  return Math.floor((length - FRAME_OVERHEAD) / (eventLength + 1))
}

/** A body for the bare loop, as long as the service's frame of `perPost` events of that length. */
function bareFrame(perPost: number, length: number): string {
  return 'x'.repeat(perPost * (length + 1) + 2 * FRAME_OVERHEAD)
}

class FanOut {
  readonly #job: FanOutJob
  readonly #subscribers: Subscriber[] = []
  #eventLength: number
  #deliveries = 0
  #frames = 0
  #posted = 0
  #answered = 0
  #witnessed = 0
  #lastSequence = -1
  #measures = false
  #poster!: Connection
  #next: () => string | Buffer = () => ''
  readonly #ended: Promise<void>
  #finished: () => void = () => {}
  #failed: (failure: Error) => void = () => {}

  constructor(job: FanOutJob) {
    this.#job = job
    this.#ended = new Promise<void>((resolve, reject) => {
      this.#finished = resolve
      this.#failed = reject
    })
    this.#eventLength = job.post.kind === 'frame' ? job.post.length : 0
  }

  /** Subscribes all; then posts once, to learn from the witness how long an event is. */
  async connect(): Promise<void> {
    this.#ended.catch(() => {})
    await Promise.race([this.#connect(), this.#ended])
    await Promise.race([this.#warmUp(), this.#ended])
  }

  async run(): Promise<FanOutResult> {
    this.#deliveries = 0
    this.#frames = 0
    this.#measures = true
    const cpu = process.cpuUsage()
    const from = performance.now()
    this.#post()
    await this.#ended
    const seconds = (performance.now() - from) / 1000
    const used = process.cpuUsage(cpu)
    for (const subscriber of this.#subscribers) subscriber.close()
    this.#poster.close()
    return {
      deliveriesPerSecond: this.#deliveries / seconds,
      eventsPerFrame: this.#deliveries / this.#frames,
      eventLength: this.#eventLength,
      clientCpu: (used.user + used.system) / 1e6 / seconds,
    }
  }

  async #connect(): Promise<void> {
    const job = this.#job
    for (let index = 0; index < job.subscribers; index++) this.#subscribers.push(await this.#subscribe(index, false))
    if (job.deaf) this.#subscribers.push(await this.#subscribe(0, true))
    this.#poster = await Connection.open(job.target)
    this.#next = this.#bodies()
  }

  #subscribe(index: number, deaf: boolean): Promise<Subscriber> {
    const isWitness = index === 0 && !deaf && this.#job.post.kind === 'run'
    return Subscriber.open({
      target: this.#job.target,
      path: this.#job.paths[index % this.#job.paths.length]!,
      token: this.#job.token,
      wantsText: isWitness,
      deaf,
      failed: this.#failed,
      frame: (length, text) => {
        if (isWitness) this.#witness(text)
        this.#count(length)
      },
    })
  }

  #bodies(): () => string | Buffer {
    const { post, perPost, token } = this.#job
    if (post.kind === 'frame') {
      const text = formatRequest('POST', '/frame', token, bareFrame(perPost, post.length))
      return () => text
    }
    const request = eventsRequest({ run: post.run, perPost, serial: post.serial })
    let serial = post.serial
    return () => {
      serial = renumber(request.bytes, request.offsets, serial)
      // A copy: the next post may be written while the kernel still holds this one.
      return Buffer.from(request.bytes)
    }
  }

  async #warmUp(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#poster.listen((status, text, from, to) => {
        if (status === 200) resolve()
        else reject(new Error(`post: ${status} ${text.slice(from, to)}`))
      }, reject)
      this.#poster.send(this.#next())
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
    if (this.#eventLength === 0) throw new Error('the witness saw no event')
  }

  #witness(text: string): void {
    const frame = JSON.parse(text)
    if (frame.type === 'error') throw new Error(`watch: ${text}`)
    if (frame.type !== 'events') return
    const sequence = Number.parseInt(String(frame.cursor).split('.')[1]!, 36)
    if (sequence <= this.#lastSequence) throw new Error(`cursor ${frame.cursor} went back`)
    this.#lastSequence = sequence
    this.#witnessed += frame.events.length
    const { length } = JSON.stringify(frame.events[0])
    if (this.#eventLength === 0) this.#eventLength = length
  }

  #count(length: number): void {
    const events = this.#eventLength === 0 ? 0 : eventsIn(length, this.#eventLength)
    if (events <= 0) return
    this.#frames++
    this.#deliveries += events
    if (this.#measures && this.#answered === this.#posted) this.#post()
  }

  /** Sends the next post unless the server is ahead of the readers. */
  #post(): void {
    const { posts, perPost, subscribers } = this.#job
    if (this.#posted === posts) {
      if (this.#deliveries >= posts * perPost * subscribers) this.#end()
      return
    }
    if (this.#answered < this.#posted) return
    if (this.#posted * perPost * subscribers - this.#deliveries > FRAMES_IN_FLIGHT * perPost * subscribers) return
    if (this.#posted === 0) {
      this.#poster.listen((status, text, from, to) => {
        if (status !== 200) this.#failed(new Error(`post: ${status} ${text.slice(from, to)}`))
        this.#answered++
        this.#post()
      }, this.#failed)
    }
    this.#posted++
    this.#poster.send(this.#next())
  }

  #end(): void {
    const expected = this.#job.posts * this.#job.perPost
    // The witness also saw the post of the warm-up.
    if (this.#job.post.kind === 'run' && this.#witnessed !== expected + this.#job.perPost) {
      this.#failed(new Error(`the witness saw ${this.#witnessed} of ${expected + this.#job.perPost} events`))
    }
    if (this.#deliveries !== expected * this.#job.subscribers) {
      this.#failed(new Error(`${this.#deliveries} deliveries of ${expected * this.#job.subscribers}`))
    }
    this.#finished()
  }
}

const CURSOR_KEY = '"cursor":"'

/** The sequence in a frame's cursor. Unfiltered frames have no gaps, so it tells how many events have come. */
function sequenceOf(text: string): number {
  const at = text.indexOf(CURSOR_KEY) + CURSOR_KEY.length
  return Number.parseInt(text.slice(text.indexOf('.', at) + 1, text.indexOf('"', at)), 36)
}

/** Reads `events` events from the start of the log as fast as they come; parses every hundredth frame. */
function replay(job: ReplayJob): Promise<ReplayResult> {
  const from = performance.now()
  const cpu = process.cpuUsage()
  return new Promise((resolve, reject) => {
    let first = -1
    let frames = 0
    let bytes = 0
    const opened = Subscriber.open({
      target: job.target,
      path: job.path,
      token: job.token,
      wantsText: true,
      failed: reject,
      frame: (length, text) => {
        if (first < 0) {
          first = sequenceOf(text)
          return
        }
        bytes += length
        const last = sequenceOf(text)
        if (frames++ % 100 === 0) JSON.parse(text)
        if (last - first < job.events) return
        opened.then((subscriber) => subscriber.close())
        const seconds = (performance.now() - from) / 1000
        const used = process.cpuUsage(cpu)
        const events = last - first
        resolve({
          eventsPerSecond: events / seconds,
          events,
          bytes,
          clientCpu: (used.user + used.system) / 1e6 / seconds,
        })
      },
    })
    opened.catch(reject)
  })
}

const OPEN_AT_ONCE = 200

/** Opens idle subscribers, each on a trace that does not exist; they stay until the process ends. */
async function hold({ target, token, count }: HoldJob): Promise<number> {
  const failed = (failure: Error): never => {
    throw failure
  }
  const common = { target, token, wantsText: false, failed, frame: () => {} }
  for (let at = 0; at < count; at += OPEN_AT_ONCE) {
    const part = Array.from({ length: Math.min(OPEN_AT_ONCE, count - at) }, () => randomBytes(16).toString('hex'))
    await Promise.all(
      part.map((trace) => Subscriber.open({ ...common, path: `/api/watch?since=latest&trace_id=${trace}` })),
    )
  }
  return count
}

let connected: FanOut | undefined

/** Connecting is a step of its own, so that its cost to the server is not measured. */
async function connectFanOut(job: FanOutJob): Promise<void> {
  connected = new FanOut(job)
  await connected.connect()
}

function runFanOut(): Promise<FanOutResult> {
  if (connected === undefined) throw new Error('nobody is connected')
  return connected.run()
}

async function fanOut(job: FanOutJob): Promise<FanOutResult> {
  await connectFanOut(job)
  return runFanOut()
}

answerRequests({ fanOut, connectFanOut, runFanOut, hold, replay })
