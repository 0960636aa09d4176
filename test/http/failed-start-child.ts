/**
 * Starts a service that fails late, as `argv[3]` says, prints why, and exits only if nothing keeps the process alive.
 */
import { pino } from 'pino'
import { type ServiceOptions, startService } from '../../http/service.ts'
import { defaultSettings } from '../../runtime/settings.ts'

const [, , home = '', how] = process.argv
const notKept = (): never => {
  throw new Error('the token cannot be kept')
}
const settings = { ...defaultSettings, port: 0, diskReserveBytes: 0, home }
const pem = process.argv[1]!
const tls = how === 'tls' ? { tls: { certFile: pem, keyFile: pem } } : {}
const options: ServiceOptions = {
  version: '0.0.0-test',
  log: pino({ level: 'silent' }),
  ...(how === 'token' && { saveAdminToken: notKept }),
}
// A start that cannot listen fails late only where the home is there already.
if (how !== 'token') await (await startService(settings, options)).close()
await startService({ ...settings, ...tls, ...(how === 'address' && { host: '203.0.113.1' }) }, options).catch(
  ({ message }: Error) => console.log(message),
)
