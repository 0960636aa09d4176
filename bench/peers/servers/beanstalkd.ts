/** beanstalkd with a write-ahead log that is flushed at each write. */
import { join } from 'node:path'
import { Daemon, freePort, listens, outputOf } from '../../daemon.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

export const beanstalkd: PeerServer = {
  name: 'beanstalkd',
  version: () => /(\d[\d.]*)/.exec(outputOf('beanstalkd', '-v') ?? '')?.[1],
  setting: '-b DIR -f0',
  start: async ({ home, wrapper }) => {
    const port = await freePort()
    const daemon = new Daemon({
      command: ['beanstalkd', '-l', LOOPBACK, '-p', `${port}`, '-b', home, '-f0'],
      ...(wrapper === undefined ? {} : { wrapper }),
      directory: home,
      logFile: join(home, 'server.log'),
    })
    await daemon.ready(() => listens(port))
    return { daemon, address: { host: LOOPBACK, port } }
  },
}
