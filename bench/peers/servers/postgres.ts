/** PostgreSQL as it commits by default: fsync and synchronous_commit on. It refuses to run as root. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon, freePort, outputOf, type User } from '../../daemon.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

const DEBIAN = '/usr/lib/postgresql'
const OWNER = 'bench'
const SETTINGS = ['max_connections=300', 'shared_buffers=512MB', 'max_wal_size=4GB']

/** Directory of the newest version's programs. */
function programs(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : []
  const found = versions
    .map((version) => join(DEBIAN, version, 'bin'))
    .find((path) => existsSync(join(path, 'postgres')))
  return found ?? outputOf('pg_config', '--bindir')?.trim()
}

/** The user to run as if root starts it. */
function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const name = outputOf('id', '-u', 'postgres') === undefined ? 'nobody' : 'postgres'
  return { uid: Number(outputOf('id', '-u', name)), gid: Number(outputOf('id', '-g', name)) }
}

export const postgres: PeerServer = {
  name: 'PostgreSQL',
  version: () => {
    const path = programs()
    return path === undefined ? undefined : /\) (\S+)/.exec(outputOf(join(path, 'postgres'), '--version') ?? '')?.[1]
  },
  setting: `fsync and synchronous_commit on, ${SETTINGS.join(', ')}`,
  start: async ({ home, wrapper }) => {
    const path = programs()!
    const port = await freePort()
    const data = join(home, 'data')
    const user = unprivileged()
    mkdirSync(data, { mode: 0o700 })
    if (user !== undefined) for (const directory of [home, data]) chownSync(directory, user.uid, user.gid)
    const init = ['-D', data, '-U', OWNER, '--auth=trust', '--no-sync', '--encoding=UTF8']
    execFileSync(join(path, 'initdb'), init, { ...user, cwd: home, stdio: ['ignore', 'ignore', 'inherit'] })
    const settings = [`port=${port}`, `listen_addresses=${LOOPBACK}`, `unix_socket_directories=${data}`, ...SETTINGS]
    const daemon = new Daemon({
      command: [join(path, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])],
      ...(wrapper === undefined ? {} : { wrapper }),
      directory: home,
      logFile: join(home, 'server.log'),
      stopSignal: 'SIGINT',
      ...(user === undefined ? {} : { user }),
    })
    await daemon.ready(async () => outputOf(join(path, 'pg_isready'), '-h', LOOPBACK, '-p', `${port}`) !== undefined)
    return { daemon, address: { host: LOOPBACK, port, user: OWNER, database: 'postgres' } }
  },
}
