/**
 * One service process per home, for the life of the process and no longer. Node has no flock: on Linux the lock is
 * an abstract Unix socket named after the home's device and inode, which the kernel gives to one process and takes
 * back when that dies, however it dies; it leaves no file behind and tells who holds it. Elsewhere it is a file
 * with the holder's process id and when that process began, since after a power cut another may have its id. It
 * reaches as far as the network namespace: containers that share a home are caught by the log's own fence
 * (storage/segments/tail.ts) instead.
 */
import { spawnSync } from 'node:child_process'
import { linkSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { makeFolder } from '../files/make-folder.ts'
import { FOLDER_MODE } from '../files/modes.ts'
import { HomeRefused } from './home-refused.ts'

export interface InstanceLock {
  release(): Promise<void>
}

/** A home that no service writes while it is read, and that is not written to for that. */
export interface Standstill extends InstanceLock {
  /** Ask when all was read. Throws HomeRefused `locked` where somebody has begun to use it meanwhile. */
  assertKept(): void
}

/**
 * The whole of `sun_path`: libuv fills an abstract name up to it (1.46, Node.js 20) or takes it as long as it is (Node.js 24), and the
 * two would not be the same.
 */
const ADDRESS_CHARS = 108
const HOLDER_ANSWER_MS = 1_000
const UNKNOWN = 'another process'
const NOBODY = ''
/** A process that ends is waited for so long. */
const ENDING_LOOKS_MAX = 50
const ENDING_LOOK_MS = 20
const LOCK = 'lock'
/** What else whoever wants a home may do where another process has it, and whoever only reads it. */
const OTHERWISE = { used: 'choose another home', read: 'take a backup instead, which that process makes' } as const

/** Takes the lock, making the home if need be. Throws HomeRefused `locked`, naming the holder, having changed nothing. */
export async function lockInstance(home: string): Promise<InstanceLock> {
  makeFolder(home, FOLDER_MODE)
  return process.platform === 'linux' ? lockBySocket(home) : lockByFile(home)
}

/**
 * Where the lock is a file none is made in what is only read: it may be another's, on a disk that takes no writes, or stay behind when this
 * process is killed. Throws HomeRefused `locked`, naming the holder.
 */
export async function standstillOf(home: string): Promise<Standstill> {
  if (process.platform === 'linux') return { ...(await lockBySocket(home, OTHERWISE.read)), assertKept() {} }
  const assertFree = (): void => {
    const holder = livingHolder(lockFileIn(home))
    if (holder !== undefined) throw refusal(home, `process ${holder}`, OTHERWISE.read)
  }
  assertFree()
  return { assertKept: assertFree, async release() {} }
}

function refusal(home: string, holder: string, otherwise: string = OTHERWISE.used): HomeRefused {
  return new HomeRefused('locked', `${home} is in use by ${holder}: stop that process, or ${otherwise}`)
}

async function lockBySocket(home: string, otherwise?: string): Promise<InstanceLock> {
  const { dev, ino } = statSync(home)
  const address = `\0intendant-${dev}-${ino}`.padEnd(ADDRESS_CHARS, '\0')
  for (let looks = 1; ; looks += 1) {
    const lock = await bound(address)
    if (lock !== undefined) return lock
    const holder = await askHolder(address)
    if (holder === NOBODY && looks < ENDING_LOOKS_MAX) await new Promise((go) => setTimeout(go, ENDING_LOOK_MS))
    else throw refusal(home, holder === NOBODY ? UNKNOWN : holder, otherwise)
  }
}

/** Undefined: another has it. */
function bound(address: string): Promise<InstanceLock | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(`process ${process.pid}`)
    // Whoever asks may stay for ever: anybody on the machine may ask.
    socket.destroySoon()
  })
  server.unref()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen(address, () => {
      resolve({ release: () => new Promise((released) => server.close(() => released())) })
    })
  })
}

/**
 * Who holds the socket, in its own words; a holder that is too busy to answer still holds it. NOBODY: none hears there, since a process that
 * was killed, or lets go, is not at its end yet.
 */
function askHolder(address: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(address)
    const finish = () => {
      socket.destroy()
      resolve(answer === '' ? UNKNOWN : answer)
    }
    socket.setTimeout(HOLDER_ANSWER_MS, finish)
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(NOBODY)
      finish()
    })
    socket.on('close', finish)
  })
}

/** What the file says: a process id and, where `ps` tells it, when that process began. */
const HOLDER = /^(\d+)(?: (.+))?$/

/**
 * Made complete under another name, then linked: whoever reads the lock file reads all of it, and what is less was left by a
 * power cut. Two that find the same dead holder in the same instant may both go on; the log's fence ends the second at
 * its first write.
 */
function lockByFile(home: string): InstanceLock {
  const path = join(home, LOCK)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${process.pid} ${beginningOf(process.pid)}`.trim(), { flush: true })
  try {
    for (;;) {
      try {
        linkSync(draft, path)
        return { release: async () => rmSync(path, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = livingHolder(readFileSync(path, 'utf8'))
      if (holder !== undefined) throw refusal(home, `process ${holder}`)
      unlinkSync(path)
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/** What it says; empty: there is none. */
function lockFileIn(home: string): string {
  try {
    return readFileSync(join(home, LOCK), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** The process that a lock file names, if it is that one that lives. */
function livingHolder(text: string): number | undefined {
  const [, digits, beginning] = HOLDER.exec(text) ?? []
  const pid = Number(digits ?? 0)
  if (pid === 0 || !isAlive(pid)) return undefined
  const now = beginningOf(pid)
  if (beginning !== undefined && now !== '') return beginning === now ? pid : undefined
  // By its id alone: a lock of ours would be of another process that had it before.
  return pid === process.pid ? undefined : pid
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process began, as `ps` writes it; empty: it does not say. */
function beginningOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
  })
  return stdout?.trim() ?? ''
}
