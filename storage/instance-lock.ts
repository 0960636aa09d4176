/**
 * One service process per home, for the life of the process and no longer. Node has no flock: on Linux the lock is
 * an abstract Unix socket named after the home's device and inode, which the kernel gives to one process and takes
 * back when that dies, however it dies; it leaves no file behind and tells who holds it. Elsewhere it is a file
 * with the holder's process id. It reaches as far as the network namespace: containers that share a home are
 * caught by the log's own fence (storage/event-log.ts) instead.
 */
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { HomeRefused } from './home-refused.ts'

export interface InstanceLock {
  release(): Promise<void>
}

const HOLDER_ANSWER_MS = 1_000
const HOME_MODE = 0o700

/** Takes the lock, making the home if need be. Throws HomeRefused `locked`, naming the holder, having changed nothing. */
export async function lockInstance(home: string): Promise<InstanceLock> {
  mkdirSync(home, { recursive: true, mode: HOME_MODE })
  return process.platform === 'linux' ? lockBySocket(home) : lockByFile(home)
}

function refusal(home: string, holder: string): HomeRefused {
  return new HomeRefused('locked', `${home} is in use by ${holder}: stop that process, or choose another home`)
}

function lockBySocket(home: string): Promise<InstanceLock> {
  const { dev, ino } = statSync(home)
  const address = `\0intendant-${dev}-${ino}`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(`process ${process.pid}`)
  })
  server.unref()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') reject(error)
      else askHolder(address).then((holder) => reject(refusal(home, holder)))
    })
    server.listen(address, () => {
      resolve({ release: () => new Promise((released) => server.close(() => released())) })
    })
  })
}

/** Who holds the socket, in its own words; a holder that is too busy to answer still holds it. */
function askHolder(address: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(address)
    const finish = () => {
      socket.destroy()
      resolve(answer === '' ? 'another process' : answer)
    }
    socket.setTimeout(HOLDER_ANSWER_MS, finish)
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', finish)
    socket.on('close', finish)
  })
}

/**
 * Made complete under another name, then linked: whoever reads the lock file reads a whole process id. Two that
 * find the same dead holder in the same instant may both go on; the log's fence ends the second at its first write.
 */
function lockByFile(home: string): InstanceLock {
  const path = join(home, 'lock')
  const draft = `${path}.${process.pid}`
  const file = openSync(draft, 'w')
  writeSync(file, String(process.pid))
  closeSync(file)
  try {
    for (;;) {
      try {
        linkSync(draft, path)
        return { release: async () => rmSync(path, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = Number(readFileSync(path, 'utf8'))
      if (holder !== process.pid && isAlive(holder)) throw refusal(home, `process ${holder}`)
      unlinkSync(path)
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
