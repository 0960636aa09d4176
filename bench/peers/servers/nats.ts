/** NATS JetStream with file storage. Before 2.10 it cannot be told to flush before it answers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon, freePort, listens, outputOf } from '../../daemon.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

function version(): string | undefined {
  return /v?(\d+\.\d+\.\d+)/.exec(outputOf('nats-server', '-v') ?? '')?.[1]
}

/** `sync_interval: always` came with 2.10; the default is two minutes. */
function flushesAlways(): boolean {
  const [major, minor] = (version() ?? '0.0').split('.').map(Number)
  return major! > 2 || (major === 2 && minor! >= 10)
}

export const nats: PeerServer = {
  name: 'NATS JetStream',
  version,
  get setting() {
    return flushesAlways()
      ? 'file storage, sync_interval: always'
      : 'file storage; this version cannot be told to flush before it answers (every two minutes)'
  },
  start: async ({ home, wrapper }) => {
    const port = await freePort()
    const sync = flushesAlways() ? '  sync_interval: always\n' : ''
    const file = join(home, 'nats.conf')
    writeFileSync(file, `listen: "${LOOPBACK}:${port}"\njetstream {\n  store_dir: "${home}"\n${sync}}\n`)
    const daemon = new Daemon({
      command: ['nats-server', '-c', file],
      ...(wrapper === undefined ? {} : { wrapper }),
      directory: home,
      logFile: join(home, 'server.log'),
    })
    await daemon.ready(() => listens(port))
    return { daemon, address: { host: LOOPBACK, port } }
  },
}
