/**
 * One service process per home, for exactly the life of the process. Node.js has no flock: on Linux the lock is an
 * abstract Unix socket named after the home's device and inode, which the kernel gives to one process and takes back
 * when that dies, however it dies; it leaves no file behind and tells who holds it. Elsewhere it is a file with the
 * holder's process id and start time, since after a power cut another process may have that id. The socket reaches as
 * far as the network namespace: containers that share a home are caught by the log's own fence
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

/** Keeps a home unwritten by services while it is being read, without writing to it. */
export interface ReadGuard extends InstanceLock {
  /**
   * Call when everything has been read. Throws HomeRefused `locked` if somebody has begun to use the home meanwhile.
   */
  assertKept(): void
}

/**
 * The whole of `sun_path`. libuv either pads an abstract name to it (1.46, Node.js 20) or takes the name's own length
 * (Node.js 24); without padding the two would differ.
 */
const ADDRESS_CHARS = 108
const HOLDER_ANSWER_MS = 1_000
const UNKNOWN = 'another process'
const NOBODY = ''
/** Attempts, and the pause between two, while the holder is ending. */
const ENDING_LOOKS_MAX = 50
const ENDING_LOOK_MS = 20
const LOCK = 'lock'
/** The alternative that a refusal suggests to a process that wants to use the home, or only to read it. */
const OTHERWISE = { used: 'choose another home', read: 'take a backup through that process instead' } as const

/**
 * Takes the lock, creating the home if need be. Throws HomeRefused `locked`, naming the holder, without changing
 * anything.
 */
export async function lockInstance(home: string): Promise<InstanceLock> {
  makeFolder(home, FOLDER_MODE)
  return process.platform === 'linux' ? lockBySocket(home) : lockByFile(home)
}

/**
 * Where the lock is a file, none is created, since this only reads: the home may be another user's or on a read-only
 * disk, and the file would stay if this process were killed. Throws HomeRefused `locked`, naming the holder.
 */
export async function guardForReading(home: string): Promise<ReadGuard> {
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

/** Undefined if another process has the address. */
function bound(address: string): Promise<InstanceLock | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(`process ${process.pid}`)
    // Anybody on the machine may connect, and stay forever.
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
 * The holder's own description of itself. A holder too busy to answer still holds the socket. NOBODY if the connection
 * is refused, because a process that was killed or is letting go has not ended yet.
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

/** Content of the lock file: a process id and, if `ps` tells it, when that process started. */
const HOLDER = /^(\d+)(?: (.+))?$/

/**
 * The file is completed under another name, then linked, so that readers always see all of it; less was left by a
 * power cut. Two processes that find the same dead holder at the same instant may both go on; the log's fence stops
 * the second at its first write.
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

/** Content of the lock file; empty if there is none. */
function lockFileIn(home: string): string {
  try {
    return readFileSync(join(home, LOCK), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** The process that a lock file names, if that very process is alive. */
function livingHolder(text: string): number | undefined {
  const [, digits, beginning] = HOLDER.exec(text) ?? []
  const pid = Number(digits ?? 0)
  if (pid === 0 || !isAlive(pid)) return undefined
  const now = beginningOf(pid)
  if (beginning !== undefined && now !== '') return beginning === now ? pid : undefined
  // Known by its id alone: a lock with our own id was left by an earlier process that had it.
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

/** When a process started, in the words of `ps`; empty if unknown. */
function beginningOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
  })
  return stdout?.trim() ?? ''
}
