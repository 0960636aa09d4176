/** RabbitMQ, one node with an epmd name server of its own, so that nothing stays behind. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon, freePort, listens } from '../../daemon.ts'
import { LOOPBACK, type PeerServer } from '../server.ts'

const DEBIAN = '/usr/lib/rabbitmq'

export const rabbitmq: PeerServer = {
  name: 'RabbitMQ',
  version: () => {
    if (!existsSync(join(DEBIAN, 'bin/rabbitmq-server'))) return undefined
    const [newest] = readdirSync(join(DEBIAN, 'lib')).filter((name) => name.startsWith('rabbitmq_server-'))
    return newest?.replace('rabbitmq_server-', '')
  },
  setting: 'as shipped, one node, no plugins',
  start: async ({ home, wrapper }) => {
    const [port, distribution, names] = await Promise.all([freePort(), freePort(), freePort()])
    const logFile = join(home, 'server.log')
    const environment = {
      HOME: home,
      ERL_EPMD_PORT: `${names}`,
      ERL_EPMD_ADDRESS: LOOPBACK,
      RABBITMQ_NODENAME: 'bench@localhost',
      RABBITMQ_NODE_IP_ADDRESS: LOOPBACK,
      RABBITMQ_NODE_PORT: `${port}`,
      RABBITMQ_DIST_PORT: `${distribution}`,
      RABBITMQ_BASE: home,
      RABBITMQ_MNESIA_BASE: join(home, 'mnesia'),
      RABBITMQ_LOG_BASE: join(home, 'log'),
      RABBITMQ_PID_FILE: join(home, 'pid'),
      RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
      RABBITMQ_CONF_ENV_FILE: join(home, 'rabbitmq-env.conf'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'enabled_plugins'),
      // With these, the start script execs the server instead of waiting for it, so that a signal reaches the server.
      RABBITMQ_ALLOW_INPUT: 'true',
      RABBITMQ_SERVER_START_ARGS: '-noinput',
    }
    writeFileSync(environment.RABBITMQ_CONFIG_FILE, '')
    writeFileSync(environment.RABBITMQ_CONF_ENV_FILE, '')
    writeFileSync(environment.RABBITMQ_ENABLED_PLUGINS_FILE, '[].\n')
    const nameServer = new Daemon({ command: ['epmd'], environment, directory: home, logFile })
    await nameServer.ready(() => listens(names))
    const daemon = new Daemon({
      command: [join(DEBIAN, 'bin/rabbitmq-server')],
      ...(wrapper === undefined ? {} : { wrapper }),
      environment,
      directory: home,
      logFile,
    })
    await daemon.ready(() => listens(port))
    return { daemon, address: { host: LOOPBACK, port }, afterStop: () => nameServer.stop() }
  },
}
