/** The service itself, started by its command like the others, with a project and a runner for each client. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { YOUNG_GENERATION } from '../../child.ts'
import { Daemon, freePort, listens } from '../../daemon.ts'
import { Endpoint } from '../../service.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

const MAIN = fileURLToPath(new URL('../../../bin/main.js', import.meta.url))
const PACKAGE = new URL('../../../../package.json', import.meta.url)

export const PROJECT = 'bench'
/** The largest number of clients in a measurement. */
const RUNNERS = 256

export const intendant: PeerServer = {
  name: 'Intendant',
  version: () => JSON.parse(readFileSync(PACKAGE, 'utf8')).version,
  setting: 'as shipped',
  start: async ({ home, wrapper }) => {
    const port = await freePort()
    const daemon = new Daemon({
      command: [process.execPath, YOUNG_GENERATION, MAIN, 'serve'],
      ...(wrapper === undefined ? {} : { wrapper }),
      environment: { ENGINE_HOME: home, ENGINE_PORT: `${port}`, ENGINE_HOST: LOOPBACK, ENGINE_LOG_LEVEL: 'warn' },
      directory: home,
      logFile: join(home, 'server.log'),
    })
    await daemon.ready(() => listens(port))
    const token = readFileSync(join(home, 'admin.token'), 'utf8').trim()
    const endpoint = new Endpoint({ host: LOOPBACK, port }, token)
    await endpoint.createProject(PROJECT)
    const runners = await endpoint.createRunners('runner', RUNNERS)
    return { daemon, address: { host: LOOPBACK, port, token, runners } }
  },
}
