/** Builds the shim (test/crash/shim/shim.c) and gives it its orders. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../../../test/crash/shim/shim.c', import.meta.url))

/** Compiles the shim into the folder. Throws a sentence when there is no compiler. */
export function buildShim(folder: string): string {
  const library = join(folder, 'shim.so')
  const compiler = process.env.CC ?? 'cc'
  const built = spawnSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  })
  if (built.error !== undefined) {
    throw new Error(
      `a C compiler is needed (${compiler}: ${built.error.message}): apt-get install gcc libc6-dev, or set CC`,
    )
  }
  if (built.status !== 0) throw new Error(`the shim does not compile: ${built.stderr}`)
  return library
}

/** The environment of a service under the shim. */
export function shimmed(library: string, home: string, files: { trace?: string; orders?: string }) {
  return {
    LD_PRELOAD: library,
    // Writes that reach the kernel by another way would not be seen.
    UV_USE_IO_URING: '0',
    INTENDANT_SHIM_HOME: home,
    ...(files.trace === undefined ? {} : { INTENDANT_SHIM_TRACE: files.trace }),
    ...(files.orders === undefined ? {} : { INTENDANT_SHIM_CONTROL: files.orders }),
  }
}

export const ERRNO = { EIO: 5, ENOSPC: 28, EDQUOT: 122 } as const

export interface Fault {
  readonly errno: number
  /** How often; -1: always from now on. */
  readonly times: number
  readonly where?: 'log' | 'view' | 'others'
  /** Which writes: ordinary ones, or those that are flushed at once (the meta page). */
  readonly kind?: 'plain' | 'through'
  /** For writes: half is written, and no error is returned. */
  readonly half?: boolean
  /** For writes: how long the failed thread waits before it wakes another, milliseconds. */
  readonly lateMs?: number
}

const WHERE = { log: 1, view: 2, others: 4 } as const
const KIND = { plain: 8, through: 16 } as const
const ANYWHERE = 7
const ANY_KIND = 24

/** Orders to a running shim, through a file that it maps. */
export class Orders {
  readonly file: string

  constructor(file: string) {
    this.file = file
    const bytes = Buffer.alloc(4096)
    bytes.writeBigInt64LE(-1n, ROOM)
    writeFileSync(file, bytes)
  }

  failFlushes(fault: Fault): void {
    this.put(WHERE_AT, place(fault))
    this.put(FLUSH_LEFT, fault.times)
    this.put(FLUSH_ERRNO, fault.errno)
  }

  failWrites(fault: Fault): void {
    this.put(WHERE_AT, place(fault))
    this.put(WRITE_HALF, fault.half ? 1 : 0)
    this.put(LATE_MS, fault.lateMs ?? 0)
    this.put(WRITE_LEFT, fault.times)
    this.put(WRITE_ERRNO, fault.errno)
  }

  /** Limits the total growth of files, and has the file system report that much free space; undefined: no limit. */
  leaveRoom(bytes: number | undefined): void {
    const room = Buffer.alloc(8)
    room.writeBigInt64LE(BigInt(bytes ?? -1))
    this.write(ROOM, room)
  }

  /** Each write to a file other than the log's and the view's takes this long, milliseconds. */
  slowWrites(ms: number): void {
    this.put(SLOW_MS, ms)
  }

  heal(): void {
    this.put(FLUSH_ERRNO, 0)
    this.put(WRITE_ERRNO, 0)
    this.put(SLOW_MS, 0)
    this.leaveRoom(undefined)
  }

  get flushesFailed(): number {
    return this.get(FLUSHES_FAILED)
  }

  get writesFailed(): number {
    return this.get(WRITES_FAILED)
  }

  /** How many slow writes have begun. */
  get writesSlowed(): number {
    return this.get(WRITES_SLOWED)
  }

  private put(at: number, value: number): void {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    this.write(at, bytes)
  }

  private write(at: number, bytes: Buffer): void {
    const file = openSync(this.file, 'r+')
    writeSync(file, bytes, 0, bytes.length, at)
    closeSync(file)
  }

  private get(at: number): number {
    const bytes = Buffer.alloc(4)
    const file = openSync(this.file, 'r')
    readSync(file, bytes, 0, 4, at)
    closeSync(file)
    return bytes.readInt32LE()
  }
}

/** Offsets of `struct control`. */
const [FLUSH_ERRNO, FLUSH_LEFT, WRITE_ERRNO, WRITE_LEFT, WHERE_AT, WRITE_HALF] = [0, 4, 8, 12, 16, 20] as const
const [FLUSHES_FAILED, WRITES_FAILED, ROOM, LATE_MS, SLOW_MS, WRITES_SLOWED] = [24, 28, 32, 40, 44, 48] as const

function place({ where, kind }: Fault): number {
  return (where === undefined ? ANYWHERE : WHERE[where]) | (kind === undefined ? ANY_KIND : KIND[kind])
}
