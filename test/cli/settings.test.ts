import t from 'tap'
import { loadSettings, readIfThere, resolveHome } from '../../cli/settings.ts'
import { readDuration, readSize, showDuration, showSize } from '../../cli/units.ts'
import { defaultSettings } from '../../runtime/settings.ts'

function load(flags: Record<string, string>, env: Record<string, string>, config?: object | string) {
  const text = typeof config === 'object' ? JSON.stringify(config) : config
  return loadSettings({ flags: { home: '/srv/x', ...flags }, env, readFile: () => text })
}

t.test('a flag takes precedence over the environment, config.json and the default, in this order', async (t) => {
  const env = { ENGINE_PORT: '2', ENGINE_LEASE: '2m' }
  const config = { port: 3, lease: '3m', offer: '3m' }
  t.match(load({ port: '1' }, env, config), { port: 1, leaseMs: 120_000, offerMs: 180_000, graceMs: 60_000 })
  t.same(load({}, {}), { ...defaultSettings, home: '/srv/x' })
})

t.test('an empty environment variable counts as unset', async (t) => {
  t.equal(load({}, { ENGINE_PORT: '' }).port, defaultSettings.port)
})

t.test('the home folder is --home, ENGINE_HOME or ~/.engine, made absolute', async (t) => {
  t.equal(resolveHome('/a', { ENGINE_HOME: '/b' }), '/a')
  t.equal(resolveHome(undefined, { ENGINE_HOME: '/b' }), '/b')
  t.match(resolveHome(undefined, {}), /^\/.*\/\.engine$/)
  t.equal(resolveHome('x', {}), `${process.cwd()}/x`)
  t.throws(() => resolveHome('', {}), /--home is empty/)
})

t.test('a faulty setting is refused under the name it was given by, with what is expected', async (t) => {
  t.throws(() => load({ port: '70000' }, {}), /^--port is "70000": a number from 0 to 65535 is expected/)
  t.throws(() => load({}, { ENGINE_LEASE: '60' }), /^ENGINE_LEASE is "60": a duration with its unit/)
  t.throws(() => load({}, { ENGINE_LEASE: '0s' }), /ENGINE_LEASE/)
  t.throws(() => load({}, { ENGINE_LEASE: '25h' }), /at least 3s, at most 1d/)
  t.throws(() => load({ lease: '2999ms' }, {}), /^--lease is "2999ms": .* at least 3s/)
  t.equal(load({ lease: '3s' }, {}).leaseMs, 3_000)
  t.throws(() => load({}, {}, { body_max: '1 parsec' }), /^"body_max" in \/srv\/x\/config.json is "1 parsec"/)
  t.throws(() => load({}, { ENGINE_LOG_LEVEL: 'loud' }), /one of fatal, error/)
  t.throws(() => load({}, {}, { prot: 7171 }), /"prot" in .*config.json is not a setting. Known settings: .*port/)
  t.throws(() => load({}, {}, { port: true }), /must be a string or a number/)
  t.throws(() => load({}, {}, '{"port": 1, "port": 2}'), /"port" is in .*config.json twice/)
  t.throws(() => load({}, {}, '[]'), /must hold one JSON object/)
  t.throws(() => load({}, {}, '{'), /config.json is not JSON/)
})

t.test('a home of another user is named as such, and one without settings has none', async (t) => {
  const failing = (code: string) => () => {
    throw Object.assign(new Error(`${code}: no`), { code })
  }
  t.throws(() => readIfThere('/srv/x/config.json', failing('EACCES')), {
    exitCode: 2,
    message: /^\/srv\/x\/config.json cannot be read: EACCES: no; run this as the user whose home it is/,
  })
  t.throws(() => readIfThere('/srv/x/config.json', failing('EIO')), { message: /EIO: no$/ })
  t.equal(readIfThere('/srv/x/config.json', failing('ENOENT')), undefined)
})

t.test('the room for bodies in flight must hold the largest body, or is refused naming both settings', async (t) => {
  const MIB = 1024 ** 2
  const roomOf = (flags: Record<string, string>) => load(flags, {}).bodiesInFlightBytesMax / MIB
  t.equal(roomOf({ body_max: '64MiB' }), 256)
  t.equal(roomOf({ body_max: '700MiB' }), 800, 'it grows with them and leaves a part for small ones')
  t.equal(roomOf({ events_body_max: '700MiB' }), 800)
  t.equal(roomOf({ body_max: '300MiB', bodies_in_flight_max: '300MiB' }), 300)
  t.throws(() => load({ body_max: '1GiB', bodies_in_flight_max: '256MiB' }, {}), {
    exitCode: 2,
    message:
      /^--bodies-in-flight-max is 256MiB, less than --body-max, which is 1GiB: no such body could ever be received/,
  })
  t.throws(() => load({}, { ENGINE_BODIES_IN_FLIGHT_MAX: '4MiB' }, { events_body_max: '5MiB' }), {
    message:
      /^ENGINE_BODIES_IN_FLIGHT_MAX is 4MiB, less than "events_body_max" in \/srv\/x\/config.json, which is 5MiB/,
  })
  t.throws(() => load({ bodies_in_flight_max: '1MiB' }, {}), /less than the default of events_body_max, which is 2MiB/)
})

t.test('TLS needs both files or neither', async (t) => {
  t.throws(() => load({ tls_cert: 'c.pem' }, {}), /tls_cert is set and tls_key is not/)
  t.throws(() => load({}, { ENGINE_TLS_KEY: 'k.pem' }), /tls_key is set and tls_cert is not/)
  t.same(load({ tls_cert: '/c.pem', tls_key: '/k.pem' }, {}).tls, { certFile: '/c.pem', keyFile: '/k.pem' })
})

t.test(
  'durations and sizes are parsed from their usual forms, and formatted so that they parse the same',
  async (t) => {
    for (const [text, ms] of [
      ['500ms', 500],
      ['1.5s', 1500],
      ['10m', 600_000],
      ['24h', 86_400_000],
      ['7d', 604_800_000],
    ] as const) {
      t.equal(readDuration(text), ms)
    }
    for (const text of ['', '5', '-1s', '1w', 's', '1 hour']) t.equal(readDuration(text), undefined, text)
    for (const [text, bytes] of [
      ['0', 0],
      ['12', 12],
      ['64KiB', 65_536],
      ['1MiB', 1_048_576],
      ['2 GB', 2e9],
    ] as const) {
      t.equal(readSize(text), bytes)
    }
    for (const text of ['', '1Mb', '-1', '9999999999TiB']) t.equal(readSize(text), undefined, text)
    for (const ms of [0, 1, 1_500, 60_000, 86_400_000]) t.equal(readDuration(showDuration(ms)), ms)
    for (const bytes of [0, 1, 1024, 1_048_576, 1_000_000]) t.equal(readSize(showSize(bytes)), bytes)
  },
)

t.test('limits of major upgrades per project and per night are parsed and bounded', async (t) => {
  t.match(load({}, {}), { majorTasksPerProject: 2, majorTasksPerNight: 6 })
  t.match(load({ major_tasks_per_project: '0' }, { ENGINE_MAJOR_TASKS_PER_NIGHT: '1000' }), {
    majorTasksPerProject: 0,
    majorTasksPerNight: 1_000,
  })
  t.throws(() => load({}, {}, { major_tasks_per_night: 1_001 }), /a whole number from 0 to 1000 is expected/)
})
