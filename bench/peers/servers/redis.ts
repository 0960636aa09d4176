/** Redis with an append-only file that is flushed before each answer. */
import { join } from 'node:path'
import { Daemon, freePort, listens, outputOf } from '../../daemon.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

export const redis: PeerServer = {
  name: 'Redis',
  version: () => /v=(\S+)/.exec(outputOf('redis-server', '--version') ?? '')?.[1],
  setting: 'appendonly yes, appendfsync always, save ""',
  start: async ({ home, wrapper }) => {
    const port = await freePort()
    const settings = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
    const daemon = new Daemon({
      command: ['redis-server', '--bind', LOOPBACK, '--port', `${port}`, '--dir', home, ...settings],
      ...(wrapper === undefined ? {} : { wrapper }),
      directory: home,
      logFile: join(home, 'server.log'),
    })
    await daemon.ready(() => listens(port))
    return { daemon, address: { host: LOOPBACK, port } }
  },
}
